/**
 * Runs the conformance set through a server on Kubernetes. Steps must do the same as on local Docker. `make test` runs the cases in which the server, the
 * cluster or the disk has a part, and builds that do what several cases do; `make chaos` (`WINDLASS_TEST_LONG=1`) runs all.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CLUSTER_HOST } from '../support/cluster.ts'
import { eventually, type Installation, startInstallation } from '../support/installation.ts'
import { isLong } from '../support/long.ts'
import { readCases, readEvents, topicOf, type Case } from './case.ts'
import { differences } from './differences.ts'
import { toLines } from './observed.ts'
import { startServices, type TestServices } from './services.ts'
import { runCaseOnServer, type ServerContext } from './server.ts'

/**
 * Topics in which neither the server nor the cluster nor the disk has a part: the engine decides, and it is the same program on local Docker, where
 * `make test` runs all cases. Here one build of the topic `combined` does what a case of each of them does.
 */
const DECIDED_BY_ENGINE = [
  'composition',
  'directories',
  'exports',
  'expressions',
  'failures',
  'foreign-types',
  'freestyle',
  'hooks',
  'parallel',
  'services',
  'success-criteria',
  'when',
]
/**
 * Topics of which the engine decides most cases, with those that need a build of their own for what it does not decide alone: an approval that ends the
 * build, the branch of a clone, the selection of steps, terminations, what the daemon of a pod builds, and what is on the disk. Other builds of the topic
 * `combined` have the approvals that do not end the build, and the values and secrets that pass through the server.
 */
const DECIDED_BY_MORE: Readonly<Record<string, readonly string[]>> = {
  approvals: ['approval-denied'],
  clone: ['clone-branch'],
  document: ['no-steps'],
  images: ['build-buildkit', 'build-from-clone'],
  secrets: [],
  selection: ['only'],
  timeouts: ['terminate-on-finish'],
  variables: [],
  volume: ['volume-kept', 'volume-reset'],
}
const all = readCases().filter(({ localOnly }) => localOnly === undefined)
const chosen = new Set(Object.entries(DECIDED_BY_MORE).flatMap(([topic, names]) => names.map((name) => `${topic}/${name}`)))
const isPartly = (of: Case): boolean => DECIDED_BY_ENGINE.includes(topicOf(of)) || topicOf(of) in DECIDED_BY_MORE
const cases = all.filter((of) => isLong || !isPartly(of) || chosen.has(of.path))
let installation: Installation
let services: TestServices
let context: ServerContext
beforeAll(async () => {
  installation = await startInstallation(`conformance-${process.pid}`)
  services = await startServices(CLUSTER_HOST)
  const settled = (): Promise<void> =>
    eventually('the pods of the build are gone', async () =>
      (await installation.names('Pod')).length === 0 ? true : undefined,
    ).then(() => undefined)
  context = { client: installation.client, variables: services.variables, settled }
})
afterAll(async () => {
  await services?.close()
  await installation?.close()
})

test('has every case that is named here, and of each other topic a case whose rows are in the combined ones', () => {
  expect([...chosen].filter((path) => !all.some((of) => of.path === path))).toEqual([])
  const combined = new Set(all.filter((of) => topicOf(of) === 'combined').flatMap(({ rows }) => rows))
  const isCombined = (topic: string): boolean =>
    all.some((of) => topicOf(of) === topic && of.rows.every((row) => combined.has(row)))
  const alone = Object.entries(DECIDED_BY_MORE).flatMap(([topic, names]) => (names.length === 0 ? [topic] : []))
  expect([...DECIDED_BY_ENGINE, ...alone].filter((topic) => !isCombined(topic))).toEqual([])
})

const titled = (of: Case): readonly [string, Case] => [`${of.title}, ${of.name} (${of.rows.join(', ')})`, of]

async function expectCase(of: Case): Promise<void> {
  const seen = await runCaseOnServer(of, context)
  const log = [...seen.log].map(([step, text]) => `--- ${step}\n${text}`).join('\n')
  expect(differences(of, seen).join('\n'), `${toLines(seen)}\n${seen.problems.join('\n')}\n${log}`).toBe('')
  expect(toLines(seen), 'the same events as on local Docker').toBe(readEvents(of))
}

describe.concurrent('through a server on Kubernetes', () => {
  test.for(cases.filter(({ inputs }) => inputs.builds === 1).map(titled))('%s', ([, of]) => expectCase(of))
})

// A build that checks what the previous one left must get the same disk.
describe('one build after the other', () => {
  test.for(cases.filter(({ inputs }) => inputs.builds > 1).map(titled))('%s', ([, of]) => expectCase(of))
})
