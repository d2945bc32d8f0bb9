/** How long a task is in the store before the agent has it. */
import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import { loopbackRoundTrip } from '../../floors/loopback.ts'
import { spread, type Line, type Row } from '../../row.ts'
import { openFakeStack } from '../../stack/fake.ts'

const SAMPLES = 200
const WARM_UP = 20

/** One build after the other on an idle system. Task rows have whole milliseconds, so the first row may be up to 1 ms too high. */
export const taskHandover: Line = { name: 'task-handover', measure }

async function measure(): Promise<Row[]> {
  await using stack = await openFakeStack()
  const arrivals = new Map<string, number>()
  const submits: number[] = []
  for (let n = -WARM_UP; n < SAMPLES; n += 1) {
    const arrival = Promise.withResolvers<number>()
    stack.onStart = ({ buildId }) => {
      const at = performance.now()
      if (n >= 0) arrivals.set(buildId, performance.timeOrigin + at)
      arrival.resolve(at)
    }
    const askedAt = performance.now()
    await stack.submit()
    const took = (await arrival.promise) - askedAt
    if (n >= 0) submits.push(took)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  await stack.stopServer()
  const written = readTaskTimes(join(stack.dataDir, 'windlass.db'))
  const handovers = [...arrivals].map(([buildId, at]) => at - (written.get(buildId) ?? Number.NaN))
  const floor = { what: 'a 2 KB POST and its answer over loopback', value: await loopbackRoundTrip(SAMPLES) }
  return [
    {
      name: 'task-handover',
      figure: 'start task written -> agent has it, its write included',
      unit: 'ms',
      value: spread(handovers),
      warmUp: WARM_UP,
      floor,
      goal: 5,
      goalP99: 25,
    },
    {
      name: 'submit-to-agent',
      figure: 'build submitted -> agent has its start task: compile, two commits, one held poll',
      unit: 'ms',
      value: spread(submits),
      warmUp: WARM_UP,
      floor,
    },
  ]
}

/** Returns the time at which the start task of each build was written. Epoch milliseconds. */
function readTaskTimes(file: string): Map<string, number> {
  const database = new DatabaseSync(file)
  try {
    const rows = database.prepare("select build_id, created_at from task where kind = 'start-attempt'").all()
    return new Map(rows.map((row) => [String(row['build_id']), Number(row['created_at'])]))
  } finally {
    database.close()
  }
}
