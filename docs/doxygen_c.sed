# SPDX-License-Identifier: Apache-2.0
# Shows Doxygen the comments of include/pirx/pirx.h, which are plain comments of C. The one at its head stays as it is set.
/^\/\* pirx\.h: /,/\*\// {
  s@^/\* pirx\.h: @/** \\file\n\\verbatim\n@
  s@\*/@\n\\endverbatim */@
}
/^\/\* ----/d
s@^\( *\)/\* @\1/** @
s@\([,;0-9]\) */\* @\1 /**< @
