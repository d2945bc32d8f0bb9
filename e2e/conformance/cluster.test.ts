/** Every case of the conformance set through a server, on Kubernetes: its steps do what they do on this machine's Docker. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { nodeTransport } from '@windlass/kit'
import { createClient } from '@windlass/protocol'
import { readFile } from 'node:fs/promises'
import { join, dirname } from 'node:path'
import { CLUSTER_HOST } from '../support/cluster.ts'
import { eventually, type Installation, startInstallation } from '../support/installation.ts'
import { readCases, readEvents } from './case.ts'
import { differences } from './judge.ts'
import { toLines } from './observed.ts'
import { openParts, type Parts } from './parts.ts'
import { runCaseOnServer, type ServerPlace } from './server.ts'

const cases = readCases().filter(({ localOnly }) => localOnly === undefined)
let installation: Installation
let parts: Parts
let place: ServerPlace
beforeAll(async () => {
  installation = await startInstallation(`conformance-${process.pid}`)
  parts = await openParts(CLUSTER_HOST)
  const config = await readFile(join(dirname(await installation.file('conformance.txt', '')), 'config.yaml'), 'utf8')
  const token = /apiKey: "?([^\s"]+)/.exec(config)?.[1] ?? ''
  const client = createClient({ url: installation.url, transport: nodeTransport({ maxSockets: 64 }), token })
  const settled = (): Promise<void> =>
    eventually('the pods of the build are gone', async () => {
      const pods = await installation.kubectl('get', 'pods', '--output', 'name')
      return pods.trim() === '' ? true : undefined
    }).then(() => undefined)
  place = { client, variables: parts.variables, settled }
})
afterAll(async () => {
  await parts?.close()
  await installation?.close()
})

const titled = (of: (typeof cases)[number]): readonly [string, (typeof cases)[number]] => [
  `${of.rows.join(' ')}: ${of.title} (${of.name})`,
  of,
]

async function holds(of: (typeof cases)[number]): Promise<void> {
  const seen = await runCaseOnServer(of, place)
  const log = [...seen.log].map(([step, text]) => `--- ${step}\n${text}`).join('\n')
  expect(differences(of, seen).join('\n'), `${toLines(seen)}\n${seen.problems.join('\n')}\n${log}`).toBe('')
  expect(toLines(seen), 'the same as on Docker alone').toBe(readEvents(of))
}

describe.concurrent('through a server on Kubernetes', () => {
  test.for(cases.filter(({ inputs }) => inputs.builds === 1).map(titled))('%s', ([, of]) => holds(of))
})

// A build that looks for what the one before left behind must find the same disk free.
describe('one build after the other', () => {
  test.for(cases.filter(({ inputs }) => inputs.builds > 1).map(titled))('%s', ([, of]) => holds(of))
})
