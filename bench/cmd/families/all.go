package main

import "slices"

// experiments returns all experiments, in the order of the document.
func experiments() []experiment {
	return slices.Concat(
		scalableExperiments(),
		slicedExperiments(),
		countingExperiments(),
		spectralExperiments(),
		cuckooExperiments(),
		quotientExperiments(),
		fuseExperiments(),
		ribbonExperiments(),
	)
}

// aims returns what we want of each family.
func aims() []aim {
	return slices.Concat(
		scalableAims(),
		slicedAims(),
		countingAims(),
		spectralAims(),
		cuckooAims(),
		quotientAims(),
		fuseAims(),
		ribbonAims(),
	)
}
