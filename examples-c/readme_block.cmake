# usage: cmake -DREADME=... -DSOURCE=... -P readme_block.cmake
# The C in the README is the marked region of an example that is compiled and run: word for word.
cmake_minimum_required(VERSION 3.16)
file(READ "${README}" readme)
file(READ "${SOURCE}" source)

set(begin "/* begin README */\n")
string(FIND "${source}" "${begin}" start)
string(FIND "${source}" "/* end README */" stop)
if(start EQUAL -1 OR stop LESS start)
  message(FATAL_ERROR "${SOURCE} has no region that is marked for the README")
endif()
string(LENGTH "${begin}" length)
math(EXPR start "${start} + ${length}")
math(EXPR length "${stop} - ${start}")
string(SUBSTRING "${source}" ${start} ${length} region)

string(FIND "${readme}" "\n```c\n${region}```\n" found)
if(found EQUAL -1)
  message(FATAL_ERROR "${README} does not show the marked region of ${SOURCE} as it is: copy it there anew")
endif()
