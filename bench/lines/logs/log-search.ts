/** Parts of a log of a million lines and 200 MB: a search through all of it, and lines from anywhere in it. */
import { openHttpScene, type HttpScene } from '../../../packages/server/test/support/http-scene.ts'
import { sample, type Line, type Row } from '../../row.ts'

const LINES = 1_000_000
const LINES_PER_FRAME = 5_000
const RUNS = 5
const BLOCK = 512

export const logSearch: Line = { name: 'log-search', measure }

async function measure(): Promise<Row[]> {
  await using scene = await openHttpScene()
  const id = await writeLog(scene)
  const floor = { what: 'the whole log read by a download', value: await sample(RUNS, 1, () => download(scene, id)) }
  const row = async (name: string, figure: string, query: object): Promise<Row> => {
    const value = await sample(RUNS, 1, () => searchAll(scene, id, query))
    return { name, figure: `${figure} in ${LINES} lines, 200 MB, one in ten with colors`, unit: 'ms', value, warmUp: 1, floor }
  }
  const value = await sample(200, 20, (round) => readBlock(scene, id, Math.abs(round * 7_919_777) % (LINES - BLOCK)))
  return [
    { ...(await row('log-search', 'search for a text that ten lines have,', { q: 'needle' })), goal: 1_000 },
    await row('log-search-case', 'the same, with its case', { q: 'needle', case: true }),
    await row('log-search-regex', 'search for a regular expression that ten lines match,', { q: 'needle \\d+$', regex: true }),
    { name: 'log-lines', figure: `${BLOCK} lines from anywhere in that log`, unit: 'ms', value, warmUp: 20 },
  ]
}

async function writeLog(scene: HttpScene): Promise<string> {
  const { build, engine } = await scene.start()
  for (let from = 0; from < LINES; from += LINES_PER_FRAME) {
    const lines = Array.from({ length: LINES_PER_FRAME }, (_, n) => {
      const number = from + n
      const word = number % 100_000 === 77 ? `needle ${number}` : `test ${number}`
      const text = `${new Date(number * 1_000).toISOString()} some output of a test runner `.padEnd(180, 'and more ') + word
      return number % 10 === 0 ? `\u001B[32m${text}\u001B[0m\n` : `${text}\n`
    })
    await engine.log('step/hello', lines.join(''))
  }
  await engine.finish({ status: 'success' })
  return build.id
}

async function searchAll({ admin }: HttpScene, id: string, query: object): Promise<void> {
  let count = 0
  for (let after: string | undefined; ;) {
    const answer = await admin.builds.searchLog(id, {
      query: { q: '', ...query, limit: 10_000, ...(after !== undefined && { after }) },
    })
    count += answer.count
    if (answer.next === undefined) break
    after = answer.next
  }
  if (count !== 10) throw new Error(`the search found ${count} of 10 matches`)
}

async function readBlock({ admin }: HttpScene, id: string, from: number): Promise<void> {
  const { text } = await admin.builds.logLines(id, { query: { stream: 'step/hello', attempt: 1, from, count: BLOCK } })
  if (!text.split('\n', 1)[0]?.includes(` ${from}`)) throw new Error(`line ${from} is another line`)
}

async function download({ admin }: HttpScene, id: string): Promise<void> {
  for await (const _ of await admin.builds.logBytes(id, { query: { stream: 'step/hello' } }));
}
