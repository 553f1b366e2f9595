# memset goes by ERMS, as Linux did before FSRS.
s/FEATURE(fsrs)/FEATURE(erms)/
