# Turns text files into C arrays: cmake -DOUTPUT=FILE.c "-DINPUTS=page.html;page.css" -P embed.cmake
# analyze/report/page.css becomes const char dtc_page_css[], with a zero at its end.
set(text "/* made by cmake/embed.cmake */\n")
foreach(input IN LISTS INPUTS)
	get_filename_component(name ${input} NAME)
	string(MAKE_C_IDENTIFIER "dtc_${name}" identifier)
	file(READ ${input} hex HEX)
	string(REGEX REPLACE "(................................................................)" "\\1\n" hex "${hex}")
	string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
	string(APPEND text "extern const char ${identifier}[];\nconst char ${identifier}[] = {\n${bytes}0x00\n};\n")
endforeach()
file(WRITE ${OUTPUT} "${text}")
