import { fault, silentLog, systemClock, type Fault } from '@windlass/kit'
import { expect, test } from 'vitest'
import { fakeDocker } from '../../test/support/fake-docker.ts'
import type { AttemptOptions } from '../attempt/input.ts'
import { resolveDocument } from './resolve-document.ts'

/** Returns the options of an attempt with a document in git, whose daemon refuses to create volumes and containers. */
function optionsOf(refusal: Fault, journal: object = { stream: () => ({ write: async () => undefined }) }): AttemptOptions {
  const refuse = (): Promise<never> => Promise.reject(refusal)
  const docker = fakeDocker({ createVolume: refuse, createContainer: refuse })
  const input = {
    buildId: '65a1b2c3d4e5f60718293a4b',
    attempt: 1,
    volumeName: 'v',
    plan: { source: { location: 'git', repo: 'a/b', path: 'ci.yml' }, steps: [], variables: [] },
    snapshot: { steps: {}, exports: [] },
    secrets: {},
    registries: [],
    git: [],
    limits: { stepLogBytes: 1e6, buildLogBytes: 1e6, stopGraceMs: 1 },
  }
  const { signal } = new AbortController()
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only what is read before the refusal
  return { input, docker, journal, clock: systemClock, log: silentLog, signal } as unknown as AttemptOptions
}

const refused = (dockerStatus: number, message: string): Fault => fault('docker-refused', { message, dockerStatus })
const compile = () => Promise.reject(new Error('not called'))

test.each([
  ['a full disk of the daemon', refused(500, 'write /var/lib/docker/volumes/metadata.db: no space left on device'), 'disk-full'],
  ['a daemon that fails', refused(500, 'layer does not exist'), 'dind-lost'],
  ['a daemon that does not answer', fault('docker-unreachable'), 'dind-lost'],
  ['a daemon that refuses a call', refused(400, 'invalid volume name'), 'internal'],
])('ends the attempt if the document cannot be fetched because of %s', async (_, error, reason) => {
  const resolved = await resolveDocument(optionsOf(error), compile)
  expect(resolved).toEqual({ outcome: { status: 'error', reason, message: error.message } })
})

test('ends the attempt as disk-full if the spool is full', async () => {
  const full = (): never => {
    throw fault('spool-full')
  }
  const resolved = await resolveDocument(optionsOf(fault('internal'), { stream: full }), compile)
  expect(resolved).toMatchObject({ outcome: { status: 'error', reason: 'disk-full' } })
})

test('rejects with an error of the server, which the caller handles', async () => {
  const options = optionsOf(fault('attempt-stale'))
  await expect(resolveDocument(options, compile)).rejects.toMatchObject({ code: 'attempt-stale' })
})
