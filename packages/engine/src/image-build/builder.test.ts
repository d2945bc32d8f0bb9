import { fault, silentLog, systemClock } from '@windlass/kit'
import type { ResolvedBuild } from '@windlass/plan'
import { expect, test } from 'vitest'
import { fakeDocker } from '../../test/support/fake-docker.ts'
import type { StepRun } from '../attempt/context.ts'
import { openStepImages } from '../attempt/step-images.ts'
import { openBuilder, requireTrustedBuilder } from './builder.ts'
import { openDriverOptions } from './driver-options.ts'

function check(driverOpts: string, allowed: Partial<Parameters<typeof requireTrustedBuilder>[1]> = {}): void {
  requireTrustedBuilder(openDriverOptions({ driver: 'docker-container', driverOpts }, 'bridge'), {
    userAccess: true,
    network: 'bridge',
    ...allowed,
  })
}

test('rejects a builder image that the runtime does not trust', () => {
  for (const image of [
    'evil.example/anything',
    'evil.example/moby/buildkit',
    'moby/buildkit-evil',
    'localhost:5000/moby/buildkit',
  ])
    expect(() => check(`image=${image},network=host`, { trustedQemuImages: [] })).toThrow(`${image} is not trusted`)
  check('image=moby/buildkit:v0.15.0', { trustedQemuImages: [] })
  check('image=quay.io/team/buildkit', { trustedQemuImages: ['quay.io/team/buildkit'] })
  check('image=evil.example/anything')
})

test.each([
  ['network=host', 'network=host'],
  ['env.LD_PRELOAD=/var/lib/buildkit/x.so', 'env.LD_PRELOAD'],
  ['env.PATH=/var/lib/buildkit', 'env.PATH'],
  ['env.BUILDKIT_X=1,env.GODEBUG=x', 'env.GODEBUG'],
])('rejects %s for builders without access to the daemon (P183)', (driverOpts, option) => {
  expect(() => check(driverOpts, { userAccess: false })).toThrow(`"driver_opts" has ${option}, which`)
})

test('allows BuildKit settings and proxies without access to the daemon (P183)', () => {
  check('env.BUILDKIT_STEP_LOG_MAX_SIZE=-1,env.https_proxy=http://proxy:3128,network=bridge', { userAccess: false })
  check('network=host', { userAccess: false, network: 'host' })
})

/** Starts the standard builder on a daemon that refuses to create containers. Returns the failure. */
async function refusedBuilder(dockerStatus: number, message: string): Promise<unknown> {
  const docker = fakeDocker({
    readSettings: async () => ({ insecureRegistries: [] }),
    createContainer: () => Promise.reject(fault('docker-refused', { message, dockerStatus })),
  })
  const { signal } = new AbortController()
  const common = { docker, clock: systemClock, log: silentLog }
  const input = { buildId: '65a1b2c3d4e5f60718293a4b', attempt: 1, registries: [], userAccess: false }
  const context = { ...common, input, images: openStepImages({ ...common, registries: [], signal }) }
  const run = { context, action: { cacheFrom: [], cacheTo: [] }, output: { say: async () => undefined }, signal }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only what a builder uses
  const opened = openBuilder(run as unknown as StepRun<ResolvedBuild>, undefined)
  return opened.then(
    () => undefined,
    (error: unknown) => error,
  )
}

test('a daemon that does not allow a builder fails the build', async () => {
  expect(await refusedBuilder(500, 'OCI runtime create failed: not permitted')).toMatchObject({ reason: 'build-failed' })
})

test('a builder that does not fit on the disk of the daemon is no failed build', async () => {
  const failure = await refusedBuilder(500, 'write /var/lib/docker/containers/x: no space left on device')
  expect(failure).toMatchObject({ code: 'docker-refused' })
})
