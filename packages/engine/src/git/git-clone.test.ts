import type { ResolvedGitClone } from '@windlass/plan'
import { expect, test } from 'vitest'
import type { GitTarget } from './git-access.ts'
import { cloneFailure } from './git-clone.ts'

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only what a message names
const [action, target] = [
  { directory: '/codefresh/volume/app' } as ResolvedGitClone,
  { url: 'https://git.test/a/b' } as GitTarget,
]

test.each([
  [1, 'fatal: write error: No space left on device\nfatal: fetch-pack: invalid index-pack output\n', 'disk-full'],
  [13, 'fatal: write error: No space left on device\nerror: RPC failed; curl 23 Failure writing output\n', 'disk-full'],
  [1, "cp: error writing '/codefresh/volume/app/.git.windlass-new/index': No space left on device\n", 'disk-full'],
  [1, 'error: file write error. Out of diskspace\n', 'disk-full'],
  [1, 'remote: fatal: write error: No space left on device\nfatal: early exit\n', 'clone-failed'],
  [1, "error: unable to create file 'No space left on device: x': Invalid argument\n", 'clone-failed'],
  [12, 'fatal: write error: No space left on device\n', 'clone-failed'],
  [1, '', 'clone-failed'],
])('exit code %i with the output %j is %s', (exitCode, tail, reason) => {
  expect(cloneFailure({ exitCode, tail }, action, target)).toMatchObject({ reason })
})
