# The rows end before Cascade Lake, whose signature differs from Skylake-X's by the stepping alone.
s/\.stepping_max = 15/.stepping_max = 4/
