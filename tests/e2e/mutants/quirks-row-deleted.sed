# Skylake-X is forgotten.
/^	{$/ { :row; N; /\n	},$/! b row; /"skylake-x"/ d }
