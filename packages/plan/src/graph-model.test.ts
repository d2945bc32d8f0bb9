import { expect, test } from 'vitest'
import { drawModel } from '../test/model/model.ts'
import { playPlan } from '../test/model/play.ts'
import { playReference } from '../test/model/reference.ts'

/** `scripts/model` plays many more. */
const BUILDS = 1_500

test('random builds go as the reference says, through cancels, lost engines, approvals and facts told twice', () => {
  for (let seed = 1; seed <= BUILDS; seed += 1) {
    const model = drawModel(seed)
    expect({ seed, ...playPlan(model, seed) }).toEqual({ seed, ...playReference(model) })
  }
})
