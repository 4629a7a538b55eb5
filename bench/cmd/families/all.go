package main

import "slices"

// experiments returns all experiments, in the order of the document.
func experiments() []experiment {
	return slices.Concat(
		scalableExperiments(),
		growingExperiments(),
		composeExperiments(),
		correctedExperiments(),
		recentExperiments(),
		slicedExperiments(),
		countingExperiments(),
		spectralExperiments(),
		cuckooExperiments(),
		quotientExperiments(),
		fuseExperiments(),
		ribbonExperiments(),
		exactExperiments(),
	)
}

// aims returns what we want of each family.
func aims() []aim {
	return slices.Concat(
		scalableAims(),
		growingAims(),
		composeAims(),
		correctedAims(),
		recentAims(),
		slicedAims(),
		countingAims(),
		spectralAims(),
		cuckooAims(),
		quotientAims(),
		fuseAims(),
		ribbonAims(),
		exactAims(),
	)
}
