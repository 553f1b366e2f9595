# Of the last seven bytes, at most three are set.
/^\.macro SET_WORDS store$/,/^\.endm$/ { /^4:/ { n; s/\$7,/$3,/ } }
