/** Runs random builds with the graph rules and with their reference: `npx node scripts/model.ts [builds] [first seed]`. Fails at the first difference. */
import { isDeepStrictEqual } from 'node:util'
import { drawModel, type Model } from '../packages/plan/test/model/model.ts'
import { playPlan } from '../packages/plan/test/model/play.ts'
import { playReference } from '../packages/plan/test/model/reference.ts'

const [builds = 100_000, first = 1] = process.argv.slice(2).map(Number)
const began = performance.now()
let graphMs = 0
for (let seed = first; seed < first + builds; seed += 1) {
  const model = drawModel(seed)
  const expected = playReference(model)
  const at = performance.now()
  const played = play(model, seed)
  graphMs += performance.now() - at
  if (!isDeepStrictEqual(played, expected)) {
    console.error(
      `seed ${seed} differs\n${JSON.stringify(model)}\nreference ${JSON.stringify(expected)}\ngraph     ${JSON.stringify(played)}`,
    )
    process.exit(1)
  }
}

function play(model: Model, seed: number): unknown {
  try {
    return playPlan(model, seed)
  } catch (error) {
    return error instanceof Error ? error.message : error
  }
}

const each = (ms: number): string => ((ms / builds) * 1_000).toFixed(0)
console.log(`${builds} random builds from seed ${first} go as the reference says.`)
console.log(`${each(performance.now() - began)} ms per 1,000 builds, ${each(graphMs)} ms of them the graph rules.`)
