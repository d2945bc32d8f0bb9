import { expect, test } from 'vitest'
import { drawModel } from '../../test/model/model.ts'
import { playPlan } from '../../test/model/play.ts'
import { playReference } from '../../test/model/reference.ts'

/** `scripts/model` plays many more builds. */
const BUILDS = 1_500

test('random builds match the reference through cancels, lost engines, approvals and duplicate facts', () => {
  for (let seed = 1; seed <= BUILDS; seed += 1) {
    const model = drawModel(seed)
    expect({ seed, ...playPlan(model, seed) }).toEqual({ seed, ...playReference(model) })
  }
})
