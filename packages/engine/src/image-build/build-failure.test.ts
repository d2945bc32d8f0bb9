import { expect, test } from 'vitest'
import { toBuildFailure } from './build-failure.ts'

const at = { directory: '/codefresh/volume/app', dockerfile: '/codefresh/volume/app/Dockerfile' }

const tail = (
  code: number,
): string => `#6 ERROR: process "/bin/sh -c echo before && exit ${code}" did not complete successfully: exit code: ${code}
------
 > [build 2/2] RUN echo before && exit ${code}:
0.211 before
0.212 after
------
Dockerfile:2
--------------------
   2 | >>> RUN echo before && exit ${code}
--------------------
ERROR: failed to solve: process "/bin/sh -c echo before && exit ${code}" did not complete successfully: exit code: ${code}
`

test('reports a failed command with its exit code and last lines', () => {
  expect(toBuildFailure({ exitCode: 1, tail: tail(7), ...at })).toMatchObject({
    reason: 'build-failed',
    message: '"RUN echo before && exit 7" in the Dockerfile ended with exit code 7. Its last lines:\nbefore\nafter',
  })
})

test('reads the output of an older BuildKit', () => {
  const old = `------
 > [2/2] RUN echo big && exit 137:
#5 0.201 big
------
Dockerfile:2
ERROR: failed to solve: executor failed running [/bin/sh -c echo big && exit 137]: exit code: 137
`
  expect(toBuildFailure({ exitCode: 1, tail: old, ...at })).toMatchObject({
    reason: 'out-of-memory',
    message: expect.stringMatching(/^"RUN echo big && exit 137" in the Dockerfile was killed .*Its last lines:\nbig$/s),
  })
})

test('reports exit code 137 as out of memory', () => {
  expect(toBuildFailure({ exitCode: 1, tail: tail(137), ...at })).toMatchObject({ reason: 'out-of-memory' })
  expect(toBuildFailure({ exitCode: 137, tail: '', ...at })).toMatchObject({ reason: 'out-of-memory' })
})

test('reports a missing folder or Dockerfile with its full path', () => {
  expect(toBuildFailure({ exitCode: 21, tail: '', ...at }).message).toBe(`There is no Dockerfile at ${at.dockerfile}.`)
  expect(toBuildFailure({ exitCode: 20, tail: '', ...at }).message).toBe(`The folder ${at.directory} does not exist.`)
})

test('strips the prefixes of BuildKit errors', () => {
  const old =
    'ERROR: failed to solve: rpc error: code = Unknown desc = failed to solve with frontend dockerfile.v0: failed to create LLB definition: 401 Unauthorized'
  expect(toBuildFailure({ exitCode: 1, tail: old, ...at })).toMatchObject({
    message: 'The image cannot be built: 401 Unauthorized.',
    hint: expect.stringContaining('registry_contexts'),
  })
})

test('recognizes push failures, files outside of the context, and the classic builder', () => {
  expect(
    toBuildFailure({ exitCode: 1, tail: 'ERROR: failed to solve: failed to push x/y:1: unauthorized', ...at }),
  ).toMatchObject({ reason: 'push-failed' })
  expect(
    toBuildFailure({ exitCode: 1, tail: 'ERROR: failed to solve: failed to compute cache key: "/file": not found', ...at }).hint,
  ).toContain('.dockerignore')
  expect(
    toBuildFailure({ exitCode: 1, tail: "The command '/bin/sh -c exit 7' returned a non-zero code: 7", ...at }).message,
  ).toBe('"RUN exit 7" in the Dockerfile ended with exit code 7.')
})

const BLOB = '/var/lib/docker/buildkit/content/ingest/x/data: no space left on device'

test.each([
  ['the disk of the daemon is full', `failed to build: failed to solve: write ${BLOB}`, 'disk-full'],
  [
    'the disk of a separate builder is full',
    `failed to solve: mkdir /var/lib/buildkit/runc/x: no space left on device`,
    'disk-full',
  ],
  [
    'a layer does not fit on the disk',
    'failed to solve: failed to register layer: write /usr/lib/x: no space left on device',
    'disk-full',
  ],
  ['a command cannot start', `failed to solve: process "/bin/sh -c x" did not complete successfully: mkdir ${BLOB}`, 'disk-full'],
  ['the disk of the registry is full', `failed to solve: failed to push x/y:1: 500: write ${BLOB}`, 'push-failed'],
  ['a file of the build has such a name', 'failed to solve: "/no space left on device": not found', 'build-failed'],
])('blames the disk only for errors of the builder: %s', (_, error, reason) => {
  expect(toBuildFailure({ exitCode: 1, tail: `#5 DONE\nERROR: ${error}\n`, ...at })).toMatchObject({ reason })
})

test('a command of the Dockerfile that fills the disk is a failed build', () => {
  const text = tail(1).replace('0.212 after', `0.212 tar: write ${BLOB}`)
  expect(toBuildFailure({ exitCode: 1, tail: text, ...at })).toMatchObject({ reason: 'build-failed' })
})
