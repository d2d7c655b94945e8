message(STATUS "install rules: not yet")
