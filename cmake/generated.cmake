# Sources that are made while building, in ${CMAKE_BINARY_DIR}/generated.

# dtc_embed(NAME FILE...): the files as C arrays (see embed.cmake), as the library dtc_NAME.
function(dtc_embed name)
	set(output ${CMAKE_BINARY_DIR}/generated/${name}.c)
	list(TRANSFORM ARGN PREPEND ${CMAKE_SOURCE_DIR}/ OUTPUT_VARIABLE inputs)
	add_custom_command(OUTPUT ${output}
		COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} "-DINPUTS=${inputs}" -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
		DEPENDS ${inputs} ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
		VERBATIM)
	add_library(dtc_${name} STATIC ${output})
endfunction()

# dtc_protobuf(NAME SCHEMA): the messages of proto/SCHEMA.proto in C, as the library dtc_NAME.
function(dtc_protobuf name schema)
	find_program(PROTOC_C protoc-c REQUIRED)
	set(folder ${CMAKE_BINARY_DIR}/generated)
	file(MAKE_DIRECTORY ${folder})
	add_custom_command(OUTPUT ${folder}/${schema}.pb-c.c ${folder}/${schema}.pb-c.h
		COMMAND ${PROTOC_C} --c_out=${folder} --proto_path=${CMAKE_SOURCE_DIR}/proto ${schema}.proto
		DEPENDS ${CMAKE_SOURCE_DIR}/proto/${schema}.proto
		VERBATIM)
	add_library(dtc_${name} STATIC ${folder}/${schema}.pb-c.c)
	target_include_directories(dtc_${name} PUBLIC ${folder})
	target_link_libraries(dtc_${name} PUBLIC PkgConfig::PROTOBUF_C)
	# generated code is not ours to keep free of warnings
	target_compile_options(dtc_${name} PRIVATE -w)
endfunction()
