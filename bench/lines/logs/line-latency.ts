/** Latency from a line that a step writes to the follower that receives it. The line is the time at which it was written. */
import { runContainer } from '../../floors/docker.ts'
import { spread, type Line, type Row } from '../../row.ts'
import { follow, isStepOutput } from '../../stack/follow.ts'
import { benchImages, openLocalStack, toDocument } from '../../stack/local.ts'

const LINES = 200
const EVERY_MS = 53
const PROGRAM = `let n = 0; const t = setInterval(() => { console.log(Date.now()); if (++n === ${LINES}) clearInterval(t) }, ${EVERY_MS})`

export const lineLatency: Line = { name: 'line-latency', measure }

async function measure(): Promise<Row[]> {
  const { node } = await benchImages()
  const command = `node -e '${PROGRAM}'`
  await using stack = await openLocalStack()
  const { id } = await stack.submit(toDocument({ clock: { image: node, command } }))
  const ours: number[] = []
  for await (const seen of follow(stack.client, id)) {
    if (!isStepOutput(seen) || seen.item.kind !== 'log') continue
    const now = performance.timeOrigin + seen.at
    ours.push(...stamps(Buffer.from(seen.item.bytes, 'base64').toString()).map((at) => now - at))
  }
  const floors: number[] = []
  const onOutput = (data: Buffer): void => {
    const now = performance.timeOrigin + performance.now()
    floors.push(...stamps(data.toString('latin1')).map((at) => now - at))
  }
  await runContainer(node, ['sh', '-c', command], { onOutput })
  if (ours.length < LINES * 0.95) throw new Error(`only ${ours.length} of ${LINES} lines came whole`)
  return [
    {
      name: 'line-latency',
      figure: `a line written by a step every ${EVERY_MS} ms -> seen by a follower over SSE`,
      unit: 'ms',
      value: spread(ours),
      warmUp: 0,
      floor: { what: 'the same container attached by API', value: spread(floors) },
      goal: 120,
      goalP99: 300,
    },
  ]
}

/** Returns the complete time stamps of a piece of output. A time stamp that the piece cuts off is omitted. */
function stamps(text: string): number[] {
  return [...text.matchAll(/(?<![0-9])(1[0-9]{12})\n/g)].map((match) => Number(match[1]))
}
