/** Caches of jobs in a store with the API of S3, for pods of a real Kubernetes. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { CLUSTER_HOST } from '../support/cluster.ts'
import { createBucket } from '../support/log-bucket.ts'
import { startMoto, type Moto } from '../support/moto.ts'
import { openRunnerScene, type RunnerScene } from './support/runner-scene.ts'

let scene: RunnerScene
let moto: Moto
let bucket: string
beforeAll(async () => {
  moto = await startMoto(CLUSTER_HOST)
  bucket = await createBucket(moto.url)
  scene = await openRunnerScene(`gitlab-caches-${process.pid}`)
  await scene.startManager({
    // The strictest pods: another user, a root file system that is only read, and what a patch adds.
    kubernetes:
      'read_only_root_filesystem = true\n[runners.kubernetes.pod_security_context]\nrun_as_user = 12345\nrun_as_group = 0\nfs_group = 0\nrun_as_non_root = true\n' +
      '[[runners.kubernetes.pod_spec]]\nname = "aliases"\npatch = \'{"hostAliases": [{"ip": "192.0.2.7", "hostnames": ["patched.test"]}]}\'\n',
    runner:
      '[runners.feature_flags]\nFF_USE_ADVANCED_POD_SPEC_CONFIGURATION = true\n[runners.cache]\nType = "s3"\nPath = "ci"\nShared = true\nMaxUploadedArchiveSize = 100000\n[runners.cache.s3]\n' +
      `ServerAddress = "${new URL(moto.url).host}"\nInsecure = true\nAccessKey = "AKIATEST"\nSecretKey = "secret"\nBucketName = "${bucket}"\n`,
  })
})
afterAll(async () => {
  await scene?.close()
  await moto?.[Symbol.asyncDispose]()
})

const objects = async (): Promise<string[]> =>
  [...(await (await fetch(`${moto.url}/${bucket}?list-type=2`)).text()).matchAll(/<Key>([^<]+)<\/Key>/g)].map(
    ([, key]) => key ?? '',
  )

test('a cache goes from pod to pod by signed addresses, with its key, policy and fallback keys, in the strictest pods (G042, G044, G046, G076, G091, G092)', async () => {
  const cache = (more: object): object[] => [
    { key: 'deps-$CI_COMMIT_REF_SLUG', paths: ['deps/', 'none/'], policy: 'pull-push', when: 'on_success', ...more },
  ]
  const variables = [{ key: 'CI_COMMIT_REF_SLUG', value: 'main', public: true }]
  const first = await scene.ended(
    scene.enqueue(
      [
        'test "$(id -u)" = 12345',
        'grep patched.test /etc/hosts',
        '! touch /root.txt',
        'echo x >/tmp/y',
        'test ! -e deps',
        'mkdir -p deps/.bin',
        'echo one >deps/.bin/tool',
        'chmod 750 deps/.bin/tool',
      ],
      {
        cache: cache({}),
        variables,
      },
    ),
  )
  expect(first.final, first.trace.toString()).toMatchObject({ state: 'success' })
  expect(first.trace.toString()).toContain('Creating cache deps-main...')
  expect(first.trace.toString()).toContain('WARNING: none/: no matching files')
  expect(await objects()).toEqual(['ci/project/5/deps-main'])
  expect(first.trace.toString()).not.toContain('Signature')

  const pulled = await scene.ended(
    scene.enqueue(['cat deps/.bin/tool', 'test "$(stat -c %a deps/.bin/tool)" = 750', 'echo two >deps/.bin/tool'], {
      cache: cache({ policy: 'pull' }),
      variables,
    }),
  )
  expect(pulled.final, pulled.trace.toString()).toMatchObject({ state: 'success' })
  expect(pulled.trace.toString()).toContain('Successfully extracted cache')
  expect(pulled.trace.toString()).not.toContain('Creating cache')

  const other = await scene.ended(
    scene.enqueue(['cat deps/.bin/tool'], {
      cache: cache({ key: 'other', fallback_keys: ['deps-main'], policy: 'pull' }),
      variables,
    }),
  )
  expect(other.final, other.trace.toString()).toMatchObject({ state: 'success' })
  expect(other.trace.toString()).toMatch(
    /Checking cache for other\.\.\.[\s\S]*WARNING: the store does not have this cache[\s\S]*Failed to extract cache[\s\S]*Checking cache for deps-main\.\.\./,
  )
})

test('a cache that is too large, or that the store refuses, does not fail the job (G045)', async () => {
  const cache = [{ key: 'large', paths: ['large'], policy: 'push', when: 'on_success' }]
  const job = await scene.ended(scene.enqueue(['head -c 300000 /dev/urandom >large'], { cache }))
  expect(job.final, job.trace.toString()).toMatchObject({ state: 'success' })
  expect(job.trace.toString()).toMatch(/Cache archive size \(\d+\) exceeds maximum \(100000\), will not be uploaded/)
  expect(await objects()).not.toContain('ci/project/5/large')
})
