// SPDX-License-Identifier: Apache-2.0
// The client's transport over libcurl's multi interface, on the caller's thread.
//
// Every call has a fresh easy handle: libcurl 7.83 to 8.0 keep a pointer to a freed header in a handle
// that is used again, and write through it when a reply's first header line begins with a blank (curl
// issue 11101). A callback gives every byte of a body to libcurl once: if a connection that was kept open
// turns out to be dead, libcurl silently sends the request again, and a share must not be sent twice.
//
// libcurl asks before it resolves a name (on_name). That call then fails, and one with the addresses begins
// when a Resolution of our own has them: at most one of a name is under way in a process, for which other
// rounds wait, too.
#include "pirx/http/http_client.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <optional>
#include <set>

#include "curl_memory.h"
#include "http_error.h"
#include "paths.h"
#include "pirx/base/printable.h"
#include "pirx/base/small_file.h"
#include "pirx/protocol.h"
#include "resolution.h"
#include "src/base/file.h"
#include "src/base/process.h"
#include "tls_messages.h"

namespace pirx::http {
namespace {

using Clock = std::chrono::steady_clock;

/// At least 1 ms, and at most a day, so that a deadline beyond what a clock counts is not one in the past.
std::chrono::milliseconds within_a_day(std::chrono::milliseconds deadline) {
  return std::clamp<std::chrono::milliseconds>(deadline, std::chrono::milliseconds(1),
                                               std::chrono::hours(24));
}
std::chrono::milliseconds deadline_of(const CallOptions& options) { return within_a_day(options.deadline); }
std::chrono::milliseconds connect_deadline_of(const CallOptions& options) {
  return std::min(within_a_day(options.connect_timeout), deadline_of(options));
}

constexpr std::size_t kMaxHeaderBytes = 64 * 1024;
constexpr std::size_t kMaxErrorBytes = 16 * 1024;  // body of a refusal
constexpr std::size_t kMaxMessage = 1024;          // of a peer's words in an Error
constexpr std::int64_t kMaxWait = 50;              // milliseconds, for the caller's stop or a name
constexpr long kMaxIdleSeconds = 30;               // well below a server's idle timeout
constexpr std::size_t kMaxAuthoritiesBytes = std::size_t{512} << 10;
constexpr std::size_t kMaxAuthorities = 1000;  // a handshake takes as long as its square

using Multi = std::unique_ptr<CURLM, decltype([](CURLM* multi) { curl_multi_cleanup(multi); })>;
using Easy = std::unique_ptr<CURL, decltype([](CURL* easy) { curl_easy_cleanup(easy); })>;
using List = std::unique_ptr<curl_slist, decltype([](curl_slist* list) { curl_slist_free_all(list); })>;

/// An IPv6 address, in which IPv4 is mapped and every address of loopback is ::1, and a port.
struct Place {
  in6_addr address = IN6ADDR_ANY_INIT;
  int port = 0;
  bool operator==(const Place& other) const noexcept {
    return std::memcmp(&address, &other.address, sizeof address) == 0 && port == other.port;
  }
};

/// Nothing if `address` is none.
std::optional<Place> place_of(const char* address, int port) noexcept {
  Place place{.port = port};
  auto& bytes = place.address.s6_addr;
  if (::inet_pton(AF_INET, address, &bytes[12]) == 1) {
    bytes[10] = bytes[11] = 0xFF;
  } else if (::inet_pton(AF_INET6, address, bytes) != 1) {
    return std::nullopt;
  }
  const bool v4 = IN6_IS_ADDR_V4MAPPED(&place.address);
  if (v4 ? bytes[12] == 0 || bytes[12] == IN_LOOPBACKNET : IN6_IS_ADDR_UNSPECIFIED(&place.address)) {
    place.address = in6addr_loopback;
  }
  return place;
}

/// What a file of authorities holds. A deployment file of somebody else may name a terminal, a pipe or a huge
/// file, which libcurl would read in every handshake, for ever; or one with an encrypted certificate, for
/// which OpenSSL would ask for a pass phrase and wait.
Result<std::string> read_authorities(const std::string& file) {
  using namespace std::string_view_literals;
  auto text = read_file(file, kMaxAuthoritiesBytes, "the ca_file", true);
  if (!text) return invalid(text.error().message());
  const auto refuse = [&](const std::string& why) {
    return invalid("the ca_file " + printable(file) + " " + why);
  };
  // OpenSSL skips what follows a zero byte in a line, so that zero bytes could hide a word from us.
  for (const auto word : {"Proc-Type:"sv, "ENCRYPTED"sv, "\0"sv}) {
    if (text->find(word) == std::string::npos) continue;
    return refuse("is no list of certificates: something in it is encrypted, or it is no text");
  }
  constexpr auto kBegin = "-----BEGIN "sv;
  std::size_t count = 0, certificates = 0;
  for (auto at = text->find(kBegin); at != std::string::npos; at = text->find(kBegin, at + 1)) ++count;
  if (count > kMaxAuthorities) {
    return refuse("has more than the " + std::to_string(kMaxAuthorities) + " certificates that it may have");
  }
  const std::unique_ptr<BIO, decltype([](BIO* bio) { BIO_free(bio); })> pem(
      BIO_new_mem_buf(text->data(), static_cast<int>(text->size())));
  for (char *name, *header; pem != nullptr;) {
    unsigned char* data = nullptr;
    long size = 0;
    if (PEM_read_bio(pem.get(), &name, &header, &data, &size) != 1) break;
    certificates += std::string_view(name).find("CERTIFICATE") != std::string_view::npos;
    const bool dear =
        has_curve_of_its_own(as_bytes({reinterpret_cast<char*>(data), static_cast<std::size_t>(size)}));
    for (void* part : {static_cast<void*>(name), static_cast<void*>(header), static_cast<void*>(data)}) {
      OPENSSL_free(part);
    }
    if (dear) return refuse("has a certificate with an elliptic curve of its own: use one with a name");
  }
  ERR_clear_error();
  if (certificates == 0) return refuse("has no certificate in PEM");
  return text;
}

/// What is wrong with the TLS of a server, and what to do. `detail` is what libcurl and OpenSSL say.
std::string tls_failure(CURLcode code, const std::string& detail, bool allow_tls_1_2) {
  const auto says = [&detail](std::string_view part) { return detail.find(part) != std::string::npos; };
  const auto because = " (" + detail + "): ";
  if (code == CURLE_SSL_CERTPROBLEM) {
    return "was not asked, as this client's certificate or its key cannot be used" + because +
           "both must be PEM and belong together, and the key has no pass phrase";
  }
  if (says("wrong version number")) {
    return "speaks no TLS" + because + "if it serves http, write http:// in place of https://";
  }
  // A server that knows no TLS 1.3 may say that it shares no cipher; one of TLS 1.2 that it wants a
  // certificate.
  if (says("alert protocol version") || (!allow_tls_1_2 && says("alert handshake failure"))) {
    return allow_tls_1_2 ? "speaks neither TLS 1.3 nor 1.2" + because + "it is too old"
                         : "speaks no TLS 1.3, it seems" + because +
                               "its operator should turn that on; or allow TLS 1.2";
  }
  if (says("has expired")) {
    return "has a certificate that has expired" + because +
           "if this machine's clock is right, the operator must renew it";
  }
  if (says("not yet valid")) {
    return "has a certificate that is not valid yet" + because + "check this machine's clock";
  }
  return "no trusted TLS connection" + because + "check the address and the trust anchors";
}

curl_socket_t open_socket(void*, curlsocktype, curl_sockaddr* to) noexcept {
  return ::socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

}  // namespace

struct HttpTransport::Impl {
  struct Peer;

  /// What one call needs; a new one for each.
  struct Call {
    List addresses;
    Easy easy;
    ByteSpan unsent;
    Bytes received;
    std::size_t max_received = 0;
    std::size_t header_bytes = 0;
    std::optional<ErrorCode> refusal;
    bool header_complete = false;
    bool active = false;
    bool too_long = false;
    bool encoded = false;  ///< its transfer, in other ways than by chunks
    bool no_memory = false;
    bool sent = false;                       ///< some of the body
    std::shared_ptr<Resolution> resolution;  ///< of the peer's name, if the call waits for it
    const Peer* twin = nullptr;              ///< another server, at the place that this one leads to
    char error_text[CURL_ERROR_SIZE] = {};
  };

  /// A server, and the call under way.
  struct Peer : Call {
    Endpoint endpoint;
    const std::string* authorities = nullptr;  ///< what endpoint.ca_file holds
    Address address;
    std::string url;   ///< as people know it: the origin, and the database if it was named
    std::string host;  ///< to resolve; empty if libcurl needs no resolver for it
    std::string port;
    const std::vector<std::unique_ptr<Peer>>* all = nullptr;  ///< of the transport, this one too
    std::vector<Place> places;                                ///< that requests went to
    std::array<char, 32> instance{};                          ///< that replied last; zeros: unknown

    static int on_name(void*, void*, void* user) noexcept;
    static int on_ready(void* user, char* address, char* own_address, int port, int own_port) noexcept;
    static std::size_t on_send(char* to, std::size_t size, std::size_t count, void* user) noexcept;
    static std::size_t on_body(char* from, std::size_t size, std::size_t count, void* user) noexcept;
    static std::size_t on_header(char* from, std::size_t size, std::size_t count, void* user) noexcept;
    long status() const noexcept;
    Error error(ErrorCode code, const std::string& message) const { return {code, url + ": " + message}; }
  };

  /// Takes whatever is still under way from the multi handle when a round ends, however it ends. libcurl
  /// closes the connections of unfinished calls.
  struct Round {
    explicit Round(Impl& transport) : impl(transport) {}
    Round(const Round&) = delete;
    Round& operator=(const Round&) = delete;
    ~Round() {
      for (auto& peer : impl.peers) impl.release(*peer);
    }
    Impl& impl;
  };

  Result<void> add_peer(const Endpoint& endpoint, Address address);
  std::vector<CallOutcome> call_all(const char* path, const std::vector<Bytes>* bodies,
                                    const CallOptions& options, const OnSettled& on_settled);
  std::optional<Error> begin(Peer& peer, const char* path, const Bytes* body, const CallOptions& options,
                             const std::string& addresses);
  /// False when memory has run out.
  bool make_query_headers(std::chrono::milliseconds deadline);
  static CallOutcome settle(Peer& peer, CURLcode code);
  static Result<Bytes> result(Peer& peer, CURLcode code);

  void release(Peer& peer) noexcept {
    if (!peer.active) return;
    curl_multi_remove_handle(multi.get(), peer.easy.get());
    static_cast<Call&>(peer) = {};
  }

  /// In a child of fork the connections are its parent's, and so are their TLS keys: whatever the child sent,
  /// a farewell included, would be under a key and a counter that the parent uses, too. True in a child: then
  /// they are left as they are.
  bool left_to_parent() noexcept {
    if (process == process_token()) return false;
    for (auto& peer : peers) static_cast<void>(peer->easy.release());
    static_cast<void>(multi.release());
    return true;
  }
  ~Impl() { left_to_parent(); }

  const std::uint64_t process = process_token();  ///< that made the connections
  Clock::time_point start;                        ///< of the round
  std::set<std::string> authorities;              ///< of the peers, each text once
  Multi multi;                               ///< holds the kept-alive connections; null when all are closed
  List query_headers;                        ///< of the round
  std::vector<std::unique_ptr<Peer>> peers;  ///< libcurl keeps their addresses; destroyed before multi
};

/// Before libcurl resolves a name. It fails the call, after which another begins, unless this was already
/// libcurl's second attempt.
int HttpTransport::Impl::Peer::on_name(void*, void*, void* user) noexcept {
  auto& peer = *static_cast<Peer*>(user);
  if (peer.sent) return 1;
  try {
    peer.resolution = Resolution::of(peer.host, peer.port);
  } catch (const std::exception&) {  // no thread, or no memory: as a name that has no address
  }
  return 1;
}

/// Before every request, on a new connection and on a kept one. Two servers at one place are one, which must
/// not get the shares of both. With https, TLS has shown by now that the server there is the named one, so a
/// name that leads to another server's place takes nothing from that server.
int HttpTransport::Impl::Peer::on_ready(void* user, char* address, char*, int port, int) noexcept {
  auto& peer = *static_cast<Peer*>(user);
  const auto place = place_of(address, port);
  if (!place) return CURL_PREREQFUNC_ABORT;
  const auto was_there = [&](const auto& other) {
    return std::find(other->places.begin(), other->places.end(), *place) != other->places.end();
  };
  if (was_there(&peer)) return CURL_PREREQFUNC_OK;
  const auto other = std::find_if(peer.all->begin(), peer.all->end(), was_there);
  if (other != peer.all->end()) {
    peer.twin = other->get();
    return CURL_PREREQFUNC_ABORT;
  }
  try {
    peer.places.push_back(*place);
  } catch (const std::bad_alloc&) {
    peer.no_memory = true;
    return CURL_PREREQFUNC_ABORT;
  }
  return CURL_PREREQFUNC_OK;
}

std::size_t HttpTransport::Impl::Peer::on_send(char* to, std::size_t size, std::size_t count,
                                               void* user) noexcept {
  auto& peer = *static_cast<Peer*>(user);
  const auto part = peer.unsent.first(std::min(peer.unsent.size(), size * count));
  std::copy(part.begin(), part.end(), reinterpret_cast<std::byte*>(to));
  // What is gone is gone: a second attempt of libcurl would find the body missing, and fail.
  peer.sent = true;
  peer.unsent = peer.unsent.subspan(part.size());
  return part.size();
}

std::size_t HttpTransport::Impl::Peer::on_body(char* from, std::size_t size, std::size_t count,
                                               void* user) noexcept {
  auto& peer = *static_cast<Peer*>(user);
  const auto limit = peer.status() == 200 ? peer.max_received : kMaxErrorBytes;
  const auto part = as_bytes({from, size * count});
  if (part.size() > limit - peer.received.size()) {
    peer.too_long = true;
    return 0;
  }
  try {
    peer.received.insert(peer.received.end(), part.begin(), part.end());
  } catch (const std::bad_alloc&) {
    peer.no_memory = true;
    return 0;
  }
  return part.size();
}

std::size_t HttpTransport::Impl::Peer::on_header(char* from, std::size_t size, std::size_t count,
                                                 void* user) noexcept {
  auto& peer = *static_cast<Peer*>(user);
  const std::string_view line(from, size * count);
  peer.header_bytes += line.size();
  if (peer.header_bytes > kMaxHeaderBytes) {
    peer.too_long = true;
    return 0;
  }
  if (line.substr(0, 5) == "HTTP/") peer.header_complete = false;  // the next one, after a 1xx
  if (line == "\r\n" || line == "\n") peer.header_complete = true;
  const auto value_of = [&line](std::string_view name) -> std::optional<std::string_view> {
    if (line.size() <= name.size() || line[name.size()] != ':' ||
        strncasecmp(line.data(), name.data(), name.size()) != 0) {
      return std::nullopt;
    }
    auto value = line.substr(name.size() + 1);
    while (!value.empty() && (value.front() == ' ' || value.front() == '\t')) value.remove_prefix(1);
    while (!value.empty() && (value.back() == '\r' || value.back() == '\n' || value.back() == ' '))
      value.remove_suffix(1);
    return value;
  };
  // libcurl decodes what a server names here, in several layers, and looks at no deadline meanwhile: some
  // kilobytes make hours of work, and need not become a single byte.
  if (const auto coding = value_of("Transfer-Encoding");
      coding && (coding->size() != 7 || strncasecmp(coding->data(), "chunked", 7) != 0)) {
    peer.encoded = true;
    return 0;
  }
  if (const auto code = value_of(kErrorHeader)) peer.refusal = error_code_from_name(*code);
  if (const auto name = value_of(kInstanceHeader); name && name->size() == peer.instance.size()) {
    std::copy(name->begin(), name->end(), peer.instance.begin());
  }
  return size * count;
}

long HttpTransport::Impl::Peer::status() const noexcept {
  long status = 0;
  curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &status);
  return status;
}

Result<void> HttpTransport::Impl::add_peer(const Endpoint& endpoint, Address address) {
  const auto url = address.origin + (address.root == kRootPath ? "" : address.root);
  if (endpoint.certificate_file.empty() != endpoint.key_file.empty()) {
    return invalid(
        "a client's certificate needs its key, and the key its certificate: give both files or neither to " +
        url);
  }
  for (const auto& file : {endpoint.ca_file, endpoint.certificate_file, endpoint.key_file}) {
    if (file.empty()) continue;
    if (const auto opened = open_for_reading(file, true); !opened) {
      return invalid(opened.error().message() + ": TLS with " + url + " needs it");
    }
  }
  const std::string* kept = nullptr;
  if (!endpoint.ca_file.empty()) {
    auto text = read_authorities(endpoint.ca_file);
    if (!text) return invalid(text.error().message() + ": TLS with " + url + " needs it");
    kept = &*authorities.insert(std::move(*text)).first;
  }
  if (!is_token(endpoint.token.expose())) {
    return invalid("the token for " + url + " is none: up to 4096 printable characters without spaces");
  }
  auto peer = std::make_unique<Peer>();
  peer->endpoint = endpoint;
  peer->authorities = kept;
  const auto host = address.origin.find("://") + 3, colon = address.origin.rfind(':');
  peer->host = address.origin.substr(host, colon - host);
  peer->port = address.origin.substr(colon + 1);
  // libcurl knows those of this machine itself.
  if (peer->host.front() == '[' || place_of(peer->host.c_str(), 0) ||
      ("." + peer->host).ends_with(".localhost")) {
    peer->host.clear();
  }
  peer->address = std::move(address);
  peer->url = url;
  peer->all = &peers;
  peers.push_back(std::move(peer));
  return {};
}

bool HttpTransport::Impl::make_query_headers(std::chrono::milliseconds deadline) {
  query_headers.reset();
  const auto timeout = std::string(kTimeoutHeader) + ": " + std::to_string(deadline.count());
  // An empty Expect keeps libcurl from asking for leave first, which costs a round trip.
  for (const char* line : {"Content-Type: application/octet-stream", "Expect:", timeout.c_str()}) {
    auto* longer = curl_slist_append(query_headers.get(), line);
    if (longer == nullptr) return false;
    static_cast<void>(query_headers.release());
    query_headers.reset(longer);
  }
  return true;
}

/// Sets every option that matters, from libcurl's defaults, and starts the call. `addresses` are what the
/// peer's name was resolved to.
std::optional<Error> HttpTransport::Impl::begin(Peer& peer, const char* path, const Bytes* body,
                                                const CallOptions& options, const std::string& addresses) {
  static_cast<Call&>(peer) = {};
  peer.easy.reset(curl_easy_init());
  if (!peer.easy) return peer.error(ErrorCode::kResourceExhausted, "libcurl gives no handle");
  auto* easy = peer.easy.get();
  peer.unsent = body != nullptr ? ByteSpan(*body) : ByteSpan();
  peer.max_received = options.max_reply_bytes;

  CURLcode failed = CURLE_OK;
  const auto set = [&](CURLoption option, auto value) {
    const auto code = curl_easy_setopt(easy, option, value);
    if (failed == CURLE_OK) failed = code;
  };
  const auto url = peer.address.origin + peer.address.root + path;
  set(CURLOPT_URL, url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_PROXY, "");
  set(CURLOPT_NOPROXY, "*");
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_QUICK_EXIT, 1L);  // do not wait for a name server when abandoned
  set(CURLOPT_MAXAGE_CONN, kMaxIdleSeconds);
  const auto left_ms = [&](std::chrono::milliseconds limit) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(start + limit - Clock::now()).count();
    return static_cast<long>(std::max<std::int64_t>(left, 1));
  };
  set(CURLOPT_TIMEOUT_MS, left_ms(deadline_of(options)));
  set(CURLOPT_CONNECTTIMEOUT_MS, left_ms(connect_deadline_of(options)));
  if (!addresses.empty()) {
    // With '+' libcurl forgets them as soon as those that it found itself.
    const auto line = "+" + peer.host + ":" + peer.port + ":" + addresses;
    peer.addresses.reset(curl_slist_append(nullptr, line.c_str()));
    if (!peer.addresses) return peer.error(ErrorCode::kResourceExhausted, "out of memory");
    set(CURLOPT_RESOLVE, peer.addresses.get());
  } else if (!peer.host.empty()) {
    set(CURLOPT_RESOLVER_START_FUNCTION, &Peer::on_name);
    set(CURLOPT_RESOLVER_START_DATA, &peer);
  }
  set(CURLOPT_SSLVERSION,
      static_cast<long>(peer.endpoint.allow_tls_1_2 ? CURL_SSLVERSION_TLSv1_2 : CURL_SSLVERSION_TLSv1_3));
  set(CURLOPT_SSL_VERIFYPEER, 1L);
  set(CURLOPT_SSL_VERIFYHOST, 2L);
  // What a server of TLS 1.2 may choose: with RSA key exchange, its key would later open what is sent today.
  set(CURLOPT_SSL_CIPHER_LIST, "ECDHE+AESGCM:ECDHE+CHACHA20");
  set(CURLOPT_SSL_EC_CURVES, "X25519:P-256:P-384");
  set_up_tls(easy);
  if (peer.authorities != nullptr) {
    // libcurl only reads them.
    curl_blob blob{const_cast<char*>(peer.authorities->data()), peer.authorities->size(), CURL_BLOB_NOCOPY};
    // Not every TLS library takes it from memory.
    if (curl_easy_setopt(easy, CURLOPT_CAINFO_BLOB, &blob) != CURLE_OK) {
      set(CURLOPT_CAINFO, peer.endpoint.ca_file.c_str());
    }
    set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));  // or the system's anchors would count too
  }
  if (!peer.endpoint.certificate_file.empty()) {
    set(CURLOPT_SSLCERT, peer.endpoint.certificate_file.c_str());
    set(CURLOPT_SSLKEY, peer.endpoint.key_file.c_str());
    set(CURLOPT_KEYPASSWD, "");  // an encrypted key would otherwise ask on the terminal
  }
  if (!peer.endpoint.token.empty()) {
    set(CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BEARER));
    set(CURLOPT_XOAUTH2_BEARER, peer.endpoint.token.expose().c_str());
  }
  set(CURLOPT_ERRORBUFFER, peer.error_text);
  set(CURLOPT_OPENSOCKETFUNCTION, &open_socket);
  set(CURLOPT_PREREQFUNCTION, &Peer::on_ready);
  set(CURLOPT_PREREQDATA, &peer);
  set(CURLOPT_WRITEFUNCTION, &Peer::on_body);
  set(CURLOPT_WRITEDATA, &peer);
  set(CURLOPT_HEADERFUNCTION, &Peer::on_header);
  set(CURLOPT_HEADERDATA, &peer);
  set(CURLOPT_PRIVATE, &peer);
  if (body != nullptr) {
    set(CURLOPT_POST, 1L);
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body->size()));
    set(CURLOPT_READFUNCTION, &Peer::on_send);
    set(CURLOPT_READDATA, &peer);
    set(CURLOPT_HTTPHEADER, query_headers.get());
  }
  if (failed != CURLE_OK) return Error(ErrorCode::kInternal, "libcurl lacks an option: " + peer.url);
  if (curl_multi_add_handle(multi.get(), easy) != CURLM_OK) {
    return peer.error(ErrorCode::kResourceExhausted, "libcurl cannot start the call");
  }
  peer.active = true;
  return std::nullopt;
}

Result<Bytes> HttpTransport::Impl::result(Peer& peer, CURLcode code) {
  const auto failed = [&](ErrorCode kind, const std::string& message) {
    return tl::unexpected<Error>(peer.error(kind, message));
  };
  const auto status = peer.status();
  // A refusal counts even when the server closed the connection right after it: it need not read what it
  // refuses.
  if (status >= 400 && peer.refusal) {
    const auto message = error_message(as_text(peer.received), kMaxMessage);
    return failed(*peer.refusal, message.empty() ? "refused without a reason" : message);
  }
  if (peer.no_memory || code == CURLE_OUT_OF_MEMORY)
    return failed(ErrorCode::kResourceExhausted, "out of memory");
  if (peer.too_long) {
    return failed(ErrorCode::kDataLoss, "its reply is longer than the " + std::to_string(peer.max_received) +
                                            " bytes that it can have: it is faulty or no pirx server");
  }
  if (peer.encoded) {
    return failed(ErrorCode::kDataLoss, "its reply is encoded, which no pirx server does");
  }
  // libcurl takes a header that breaks off for a reply without a body.
  if (code == CURLE_PARTIAL_FILE || (code == CURLE_OK && !peer.header_complete)) {
    return failed(ErrorCode::kUnavailable, "closed the connection in the middle of its reply");
  }
  if (peer.twin != nullptr) {
    return failed(ErrorCode::kInvalidArgument, "is at the same address and port as " + peer.twin->url +
                                                   ", so nothing was sent to it: one server would get two "
                                                   "servers' shares");
  }
  const auto detail =
      printable_ascii(peer.error_text[0] != '\0' ? peer.error_text : curl_easy_strerror(code), kMaxMessage);
  switch (code) {
    case CURLE_OK:
      break;
    case CURLE_OPERATION_TIMEDOUT:
      return failed(ErrorCode::kUnavailable, "did not reply in time (" + detail + ")");
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CONNECT_ERROR:
      return failed(ErrorCode::kUnauthenticated, tls_failure(code, detail, peer.endpoint.allow_tls_1_2));
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_HTTP2:
    case CURLE_BAD_CONTENT_ENCODING:
    case CURLE_BAD_FUNCTION_ARGUMENT:  // a first header line that begins with a blank
      return failed(ErrorCode::kDataLoss,
                    "its reply is not HTTP/1.1 (" + detail + "): is this a pirx server?");
    default:
      // With TLS 1.3 a server refuses a client's certificate after the client has begun to send.
      if (detail.find(" alert ") != std::string::npos) {
        return failed(ErrorCode::kUnauthenticated,
                      "ended the TLS connection (" + detail + "): it may want a certificate, or another one");
      }
      if (code == CURLE_GOT_NOTHING && peer.url.starts_with("http://")) {
        return failed(ErrorCode::kUnavailable,
                      "closed the connection without a reply (" + detail +
                          "): if it serves https, write https:// in place of http://");
      }
      return failed(ErrorCode::kUnavailable, "cannot be reached or broke off (" + detail + ")");
  }
  if (status == 429)
    return failed(ErrorCode::kResourceExhausted, "is overloaded (HTTP 429): try again later");
  if (status >= 502 && status <= 504) {
    return failed(ErrorCode::kUnavailable, "is not available (HTTP " + std::to_string(status) + ")");
  }
  const char* type = nullptr;
  curl_easy_getinfo(peer.easy.get(), CURLINFO_CONTENT_TYPE, &type);
  if (status != 200 || type == nullptr || strncasecmp(type, kOctetStream, sizeof kOctetStream - 1) != 0) {
    return failed(ErrorCode::kDataLoss, "answered HTTP " + std::to_string(status) + " of type '" +
                                            printable_ascii(type != nullptr ? type : "", 64) +
                                            "': is this a pirx server?");
  }
  return std::move(peer.received);
}

CallOutcome HttpTransport::Impl::settle(Peer& peer, CURLcode code) {
  auto* easy = peer.easy.get();
  curl_off_t sent = 0, received = 0;
  long request_bytes = 0;
  curl_easy_getinfo(easy, CURLINFO_SIZE_UPLOAD_T, &sent);
  curl_easy_getinfo(easy, CURLINFO_SIZE_DOWNLOAD_T, &received);
  curl_easy_getinfo(easy, CURLINFO_REQUEST_SIZE, &request_bytes);
  Bytes parameters;
  if (peer.refusal == ErrorCode::kStaleEpoch && peer.status() == 409) {
    parameters = error_parameters(as_text(peer.received));
  }
  auto reply = result(peer, code);
  if (const auto epoch = parameters_epoch(parameters)) {
    reply = tl::unexpected(Error(reply.error().code(), reply.error().message() + " (the server has epoch " +
                                                           std::to_string(*epoch) + " now)"));
  }
  return {.reply = std::move(reply),
          .bytes_up = static_cast<std::uint64_t>(request_bytes) + static_cast<std::uint64_t>(sent),
          .bytes_down = peer.header_bytes + static_cast<std::uint64_t>(received),
          .parameters = std::move(parameters)};
}

std::vector<CallOutcome> HttpTransport::Impl::call_all(const char* path, const std::vector<Bytes>* bodies,
                                                       const CallOptions& options,
                                                       const OnSettled& on_settled) {
  if (process != process_token()) {
    const Error error(ErrorCode::kInvalidArgument,
                      "this client was made before a fork: make another in the child");
    return std::vector<CallOutcome>(peers.size(), CallOutcome{tl::unexpected(error)});
  }
  start = Clock::now();
  const auto elapsed_ms = [&] {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  };
  std::vector<std::optional<CallOutcome>> outcomes(peers.size());
  bool enough = false;
  const auto settled = [&](std::size_t i, CallOutcome outcome) {
    outcomes[i] = std::move(outcome);
    outcomes[i]->milliseconds = elapsed_ms();
    release(*peers[i]);
    for (std::size_t j = 0; j < peers.size(); ++j) {
      const auto& instance = peers[j]->instance;
      if (j == i || instance.front() == '\0' || instance != peers[i]->instance) continue;
      outcomes[i]->same_as = j;
      if (outcomes[j]) outcomes[j]->same_as = i;  // which of them came first says nothing
    }
    if (!enough && on_settled) enough = on_settled(i, *outcomes[i]);
  };

  const Round round(*this);
  if (!multi) {
    multi.reset(curl_multi_init());  // without it no call begins
    curl_multi_setopt(multi.get(), CURLMOPT_PIPELINING, CURLPIPE_NOTHING);
  }
  const bool ready =
      bodies == nullptr || make_query_headers(within_a_day(options.announced.value_or(options.deadline)));
  const auto begin_call = [&](std::size_t i, const std::string& addresses) {
    const auto* body = bodies != nullptr ? &(*bodies)[i] : nullptr;
    if (auto error = begin(*peers[i], path, body, options, addresses)) {
      settled(i, {tl::unexpected(std::move(*error))});
    }
  };
  for (std::size_t i = 0; i < peers.size() && !enough; ++i) {
    if (!ready) {
      settled(i, {tl::unexpected(peers[i]->error(ErrorCode::kResourceExhausted, "out of memory"))});
      continue;
    }
    if (bodies != nullptr && (*bodies)[i].empty()) {
      outcomes[i] = {tl::unexpected(peers[i]->error(ErrorCode::kUnavailable, "not asked"))};
      continue;
    }
    begin_call(i, "");
  }
  std::vector<curl_waitfd> names;
  std::string trouble;
  while (!enough && trouble.empty()) {
    int running = 0;
    auto code = curl_multi_perform(multi.get(), &running);
    int left = 0;
    while (const auto* message = curl_multi_info_read(multi.get(), &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      const auto result_code = message->data.result;  // `message` dies with the handle's removal
      const auto at = std::find_if(peers.begin(), peers.end(), [&](const auto& peer) {
        return peer->easy.get() == message->easy_handle;
      });
      if ((*at)->resolution) continue;
      const auto i = static_cast<std::size_t>(at - peers.begin());
      settled(i, settle(**at, result_code));
      if (enough) break;
    }
    names.clear();
    for (std::size_t i = 0; i < peers.size() && !enough; ++i) {
      const auto resolution = peers[i]->resolution;
      if (!resolution) continue;
      if (resolution->done() && !resolution->addresses().empty()) {
        release(*peers[i]);
        begin_call(i, resolution->addresses());
      } else if (resolution->done()) {
        settled(i, settle(*peers[i], CURLE_COULDNT_RESOLVE_HOST));
      } else if (Clock::now() >= start + connect_deadline_of(options)) {
        settled(i, settle(*peers[i], CURLE_OPERATION_TIMEDOUT));
      } else {
        names.push_back({resolution->descriptor(), CURL_WAIT_POLLIN, 0});
      }
    }
    if (running == 0 &&
        std::all_of(outcomes.begin(), outcomes.end(), [](const auto& o) { return o.has_value(); }))
      break;
    const auto left_ms =
        std::chrono::ceil<std::chrono::milliseconds>(start + deadline_of(options) - Clock::now()).count();
    if (enough || left_ms <= 0) break;
    const std::int64_t longest = options.stop || !names.empty() ? kMaxWait : 1000;
    if (code == CURLM_OK) {
      code = curl_multi_poll(multi.get(), names.data(), static_cast<unsigned>(names.size()),
                             static_cast<int>(std::min(left_ms, longest)), nullptr);
    }
    if (code != CURLM_OK) trouble = std::string("libcurl failed: ") + curl_multi_strerror(code);
    if (options.stop && options.stop()) trouble = "ended by the caller";
  }

  std::vector<CallOutcome> all;
  all.reserve(peers.size());
  for (std::size_t i = 0; i < peers.size(); ++i) {
    if (!outcomes[i]) {
      const auto message = enough ? std::string("abandoned: enough other servers replied")
                           : !trouble.empty()
                               ? trouble
                               : "no reply within " + std::to_string(options.deadline.count()) + " ms";
      CallOutcome late{tl::unexpected(peers[i]->error(ErrorCode::kUnavailable, message)), elapsed_ms()};
      if (enough) {
        outcomes[i] = std::move(late);
      } else {
        settled(i, std::move(late));
      }
    }
    all.push_back(std::move(*outcomes[i]));
  }
  return all;
}

Result<HttpTransport> HttpTransport::create(std::vector<Endpoint> servers) {
  static const CURLcode initialised = start_curl();
  if (initialised != CURLE_OK) return fail(ErrorCode::kInternal, "libcurl does not start");
  // OpenSSL takes a child of fork with its parent's process id for its parent: both would open TLS alike.
  if (RAND_poll() != 1) return fail(ErrorCode::kUnavailable, "OpenSSL has no randomness for TLS");
  if (servers.empty()) return invalid("there is no server to ask: list at least one");
  PIRX_ASSIGN(auto addresses, parse_addresses(servers));
  auto impl = std::make_unique<Impl>();
  for (std::size_t i = 0; i < servers.size(); ++i) {
    PIRX_TRY(impl->add_peer(servers[i], std::move(addresses[i])));
  }
  return HttpTransport(std::move(impl));
}

HttpTransport::HttpTransport(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpTransport::HttpTransport(HttpTransport&&) noexcept = default;
HttpTransport& HttpTransport::operator=(HttpTransport&&) noexcept = default;
HttpTransport::~HttpTransport() = default;

std::vector<CallOutcome> HttpTransport::query_all(const std::vector<Bytes>& requests,
                                                  const CallOptions& options, const OnSettled& on_settled) {
  if (requests.size() != impl_->peers.size()) {
    const Error error(ErrorCode::kInvalidArgument, std::to_string(requests.size()) + " requests for " +
                                                       std::to_string(impl_->peers.size()) +
                                                       " servers: give one for each");
    return std::vector<CallOutcome>(impl_->peers.size(), CallOutcome{tl::unexpected(error)});
  }
  return impl_->call_all(kQueryPath, &requests, options, on_settled);
}

std::vector<CallOutcome> HttpTransport::parameters_all(const CallOptions& options) {
  return impl_->call_all(kParametersPath, nullptr, options, {});
}

std::vector<CallOutcome> HttpTransport::manifests_all(const CallOptions& options) {
  return impl_->call_all(kManifestPath, nullptr, options, {});
}

void HttpTransport::close() noexcept {
  if (!impl_->left_to_parent()) impl_->multi.reset();
  for (auto& peer : impl_->peers) peer->places.clear();
}

}  // namespace pirx::http
