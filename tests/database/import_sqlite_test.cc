// SQLite: one reading query and nothing else.
#include "src/database/import_sqlite.h"

#include <sqlite3.h>

#include "importer_fixture.h"
#include "memory_limit.h"

namespace pirx::database {
namespace {

class ImportSqlite : public ::testing::Test {
 protected:
  void SetUp() override {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open((folder_ / "db.sqlite").c_str(), &database), SQLITE_OK);
    const char* script =
        "CREATE TABLE t (name TEXT, data, n);"
        "INSERT INTO t VALUES ('b', x'00ff', 1), ('a', 'text', 2.5), ('c', NULL, -3);"
        "CREATE VIEW v AS SELECT name FROM t;"
        "CREATE VIEW huge AS SELECT zeroblob(900000000) AS data;"
        "CREATE VIEW big AS SELECT zeroblob(20000000) AS a, zeroblob(20000000) AS b;"
        "CREATE VIEW endless AS WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c)"
        "  SELECT i FROM c WHERE i < 0;";
    ASSERT_EQ(sqlite3_exec(database, script, nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(database);
  }
  Result<Rows> query(const std::string& text, const Columns& columns, std::string_view file = "db.sqlite") {
    return imported(folder_, [&](DatabaseBuilder& builder) {
      return import_sqlite(folder_ / file, text, columns, builder);
    });
  }
  TemporaryFolder folder_{TemporaryFolder::kMemory};
};

TEST_F(ImportSqlite, ColumnsOfAQuery) {
  auto rows = query("SELECT name, coalesce(data, '') AS data FROM t ORDER BY name", {"name", {"data"}});
  ASSERT_TRUE(good(rows));
  EXPECT_EQ(*rows, (Rows{{"a", "text"}, {"b", std::string("\0\xff", 2)}, {"c", ""}}));
  rows = query("SELECT upper(name) AS k, n FROM t ORDER BY n; -- comment", {"k", {"n"}});
  ASSERT_TRUE(good(rows));
  EXPECT_EQ(*rows, (Rows{{"C", "-3"}, {"B", "1"}, {"A", "2.5"}}));
  rows = query("SELECT name, n FROM t WHERE n = 1", {"", {}});
  ASSERT_TRUE(good(rows));
  EXPECT_EQ(*rows, (Rows{{"", "b\t1"}}));
  rows = query("WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c WHERE i<3) SELECT i FROM c",
               {"", {"i"}});
  ASSERT_TRUE(good(rows));
  EXPECT_EQ(rows->size(), 3u);
  EXPECT_TRUE(good(query("SELECT name FROM v", {"name", {"name"}})));
}

TEST_F(ImportSqlite, ErrorsNameTheCause) {
  const auto invalid = ErrorCode::kInvalidArgument;
  expect_error(query("SELECT name FROM t", {"key", {}}), invalid,
               "no column \"key\" among the 1 columns: name");
  expect_error(query("SELECT name FROM t", {"name", {"x"}}), invalid, "no column \"x\"");
  expect_error(query("SELECT name, n AS name FROM t", {"name", {}}), invalid, "several columns");
  expect_error(query("SELECT absent FROM t", {}), invalid, "no such column");
  expect_error(query("SELEC name FROM t", {}), invalid, "syntax error");
  expect_error(query("", {}), invalid, "empty");
  expect_error(query("-- nothing", {}), invalid, "empty");
  const std::string rows = "SELECT name, data, n FROM t ORDER BY name";
  for (const Columns& columns : {Columns{"name", {"data"}}, Columns{"data", {"n"}}, Columns{}}) {
    expect_error(query(rows, columns), invalid, "row 3 of the query: column \"data\" is NULL");
  }
  expect_error(query("SELECT name FROM t WHERE 0", {}), invalid, "no records");
  expect_error(query("SELECT 1; SELECT 2", {}), invalid, "only one query");
  expect_error(query("SELECT 1; garbage", {}), invalid, "only one query");
  expect_error(query("SELECT 1", {}, "absent.sqlite"), ErrorCode::kUnavailable, "absent.sqlite");
  write_file(folder_ / "foreign", Bytes(5000, std::byte{'x'}));
  expect_error(query("SELECT 1 FROM t", {}, "foreign"), ErrorCode::kDataLoss, "not a database");
}

TEST_F(ImportSqlite, NothingButReading) {
  const Bytes before = read_file(folder_ / "db.sqlite");
  const std::string other = (folder_ / "made.sqlite").string();
  for (const std::string& text :
       {std::string("DELETE FROM t"), std::string("INSERT INTO t VALUES (1,2,3) RETURNING n"),
        std::string("DROP TABLE t"), "ATTACH '" + other + "' AS x", std::string("PRAGMA journal_mode=WAL"),
        std::string("PRAGMA table_info(t)"), std::string("BEGIN"), "VACUUM INTO '" + other + "'",
        std::string("CREATE TEMP TABLE x (a)")}) {
    expect_error(query(text, {}), ErrorCode::kInvalidArgument, "SELECT");
  }
  EXPECT_TRUE(read_file(folder_ / "db.sqlite") == before);
  EXPECT_FALSE(std::filesystem::exists(other));
}

TEST_F(ImportSqlite, HugeValuesDoNotEatTheMemory) {
  BuildOptions options;
  options.max_record_bytes = 1024;
  auto builder = DatabaseBuilder::create(folder_ / "db", options);
  ASSERT_TRUE(good(builder));
  const auto expect_refused = [&](const std::string& text, std::string_view part) {
    expect_error(import_sqlite(folder_ / "db.sqlite", text, {}, *builder), ErrorCode::kResourceExhausted,
                 part);
  };
  sqlite3_soft_heap_limit64(std::int64_t{1} << 40);
  sqlite3_memory_highwater(1);
  expect_refused("SELECT data FROM huge", "too big");
  EXPECT_LT(sqlite3_memory_highwater(1), 10 << 20);
  expect_refused("SELECT a, b FROM big", "row 1 of the query: a record longer than the limit of 1024 bytes");
  std::string many = "SELECT a";
  for (int i = 0; i < 100; ++i) many += ", randomblob(20000000)";
  sqlite3_memory_highwater(1);
  expect_refused(many + " FROM big", "out of memory");
  EXPECT_LT(sqlite3_memory_highwater(1), 520 << 20);
  // The process's own limits are as before.
  EXPECT_EQ(sqlite3_hard_heap_limit64(-1), 0);
  EXPECT_EQ(sqlite3_soft_heap_limit64(0), std::int64_t{1} << 40);
}

TEST_F(ImportSqlite, NoMemoryIsAnError) {
  if (!kCanLimitMemory) GTEST_SKIP() << "sanitizers allow no memory limit";
  // SQLite gives an empty value and only its error code says why.
  expect_true_within(std::uint64_t{100} << 20, [&] {
    auto builder = DatabaseBuilder::create(folder_ / "db", {});
    return builder.has_value() &&
           is_error(import_sqlite(folder_ / "db.sqlite", "SELECT zeroblob(100000000)", {}, *builder),
                    ErrorCode::kResourceExhausted, "out of memory");
  });
}

TEST_F(ImportSqlite, ARowThatNeverComesEnds) {
  const auto bounded = [&](const std::string& text) {
    return imported(folder_, [&](DatabaseBuilder& builder) {
      return import_sqlite_bounded(folder_ / "db.sqlite", text, {}, 50'000, builder);
    });
  };
  for (const std::string text : {"SELECT i FROM endless", "SELECT count(*) FROM endless",
                                 "SELECT name FROM t WHERE n IN (SELECT i FROM endless)"}) {
    expect_error(bounded(text), ErrorCode::kResourceExhausted,
                 "row 1 of the query: took more than 50000 steps of SQLite");
  }
  // The bound is for each row: many rows take more steps together.
  const std::string many =
      "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c WHERE i<20000) SELECT ";
  const auto rows = bounded(many + "i FROM c");
  ASSERT_TRUE(good(rows));
  EXPECT_EQ(rows->size(), 20000u);
  expect_error(bounded(many + "sum(i) FROM c"), ErrorCode::kResourceExhausted, "50000 steps");
}

TEST_F(ImportSqlite, DamagedFilesNeverCrash) {
  const Bytes original = read_file(folder_ / "db.sqlite");
  auto engine = testing::seeded_engine(13);
  for (int i = 0; i < 500; ++i) {
    Bytes damaged = original;
    for (int n = 0; n < 20; ++n) damaged[engine() % damaged.size()] = static_cast<std::byte>(engine());
    write_file(folder_ / "damaged", damaged);
    static_cast<void>(query("SELECT name, data FROM t", {"name", {"data"}}, "damaged"));
  }
}

}  // namespace
}  // namespace pirx::database
