# The row of Skylake-X takes the next model as well, Broadwell-DE.
/\.name = "skylake-x"/,/\.model_count/ { s/{ 0x55 }/{ 0x55, 0x56 }/; s/model_count = 1/model_count = 2/ }
