/**
 * Runs the conformance set through a server on Kubernetes. Steps must do the same as on local Docker. `make test` runs one case of each topic that the
 * engine decides alone, `make chaos` (`WINDLASS_TEST_LONG=1`) all.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { nodeTransport } from '@windlass/kit'
import { openClient } from '@windlass/client'
import { readFile } from 'node:fs/promises'
import { join, dirname } from 'node:path'
import { CLUSTER_HOST } from '../support/cluster.ts'
import { eventually, type Installation, startInstallation } from '../support/installation.ts'
import { isLong } from '../support/long.ts'
import { readCases, readEvents, topicOf } from './case.ts'
import { differences } from './differences.ts'
import { toLines } from './observed.ts'
import { startServices, type TestServices } from './services.ts'
import { runCaseOnServer, type ServerContext } from './server.ts'

/**
 * Topics in which neither the server nor the cluster nor the disk has a part: the engine decides, and it is the same program on local Docker, where
 * `make test` runs all cases.
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
  'timeouts',
  'when',
]
const cases = readCases()
  .filter(({ localOnly }) => localOnly === undefined)
  .filter(
    (of, at, all) =>
      isLong || !DECIDED_BY_ENGINE.includes(topicOf(of)) || all.findIndex((one) => topicOf(one) === topicOf(of)) === at,
  )
let installation: Installation
let services: TestServices
let context: ServerContext
beforeAll(async () => {
  installation = await startInstallation(`conformance-${process.pid}`)
  services = await startServices(CLUSTER_HOST)
  const config = await readFile(join(dirname(await installation.file('conformance.txt', '')), 'config.yaml'), 'utf8')
  const token = /apiKey: "?([^\s"]+)/.exec(config)?.[1] ?? ''
  const client = openClient({ url: installation.url, transport: nodeTransport({ maxSockets: 64 }), token })
  const settled = (): Promise<void> =>
    eventually('the pods of the build are gone', async () => {
      const pods = await installation.kubectl('get', 'pods', '--output', 'name')
      return pods.trim() === '' ? true : undefined
    }).then(() => undefined)
  context = { client, variables: services.variables, settled }
})
afterAll(async () => {
  await services?.close()
  await installation?.close()
})

const titled = (of: (typeof cases)[number]): readonly [string, (typeof cases)[number]] => [
  `${of.title}, ${of.name} (${of.rows.join(', ')})`,
  of,
]

async function expectCase(of: (typeof cases)[number]): Promise<void> {
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
