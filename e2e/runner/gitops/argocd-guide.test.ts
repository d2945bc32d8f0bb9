/**
 * The tour of docs/guides/gitops.md, typed as the page has it: chart and runtime in the cluster, a real forge, the shared Argo CD. Only names of the page are replaced by those of
 * this run, and the installation of Argo CD from the internet by the one that runs.
 */
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { kubernetesPrograms } from '../../support/cluster.ts'
import { joinGitea, type GiteaUser } from '../../support/gitea.ts'
import { ensureImages } from '../../support/images.ts'
import { runProgram } from '../../support/process.ts'
import { WINDLASS } from '../../support/programs.ts'
import { clearRuntime } from './runtime-process.ts'
import { readBlocks, type PageBlock } from './guide-page.ts'
import { addressValues, openGitopsScene, serviceAddress, type GitopsScene } from './scene.ts'

const PAGE = 'guides/gitops.md'
const TITLE = 'From a bare cluster to a promotion'
/** What the page deploys, and what this run deploys instead. */
const [IMAGE, LOCAL] = ['traefik/whoami', 'windlass.local/whoami']
const TAGS = ['v1.10.4', 'v1.11.0']
const ADDRESS = serviceAddress(2)

const argo = inject('argoCd')
const forge = joinGitea(inject('gitea'))
let scene: GitopsScene
let acme: GiteaUser
let folder = ''

beforeAll(async () => {
  const { PAUSE_IMAGE = '' } = await ensureImages('pause')
  scene = await openGitopsScene()
  for (const tag of TAGS) await runProgram('docker', ['tag', PAUSE_IMAGE, `${LOCAL}:${tag}`])
  await scene.cluster.load(...TAGS.map((tag) => `${LOCAL}:${tag}`))
  acme = await forge.addUser('acme')
  for (const name of ['gitops', 'apps'])
    await acme.api('POST', '/user/repos', { name, private: true, default_branch: 'main', auto_init: true })
  folder = await mkdtemp(join(tmpdir(), 'windlass-guide-'))
  await mkdir(join(folder, 'bin'))
  await mkdir(join(folder, 'home'))
  const values = await scene.helm.values(addressValues(scene, ADDRESS))
  await writeFile(join(folder, 'bin/windlass'), commandOf(values))
  await chmod(join(folder, 'bin/windlass'), 0o755)
  await writeFile(join(folder, 'home/git-token'), acme.token)
})
afterAll(async () => {
  if (scene === undefined) return
  const { kubectl } = scene.cluster
  await scene.windlass('gitops', 'uninstall', 'prod', '--yes', '--kube-namespace', argo.namespace)
  await clearRuntime(scene.cluster, argo.namespace)
  await kubectl('--namespace', argo.namespace, 'delete', 'secret', 'forge', '--ignore-not-found')
  await runProgram('docker', ['rmi', ...TAGS.map((tag) => `${LOCAL}:${tag}`)])
  await rm(folder, { recursive: true, force: true })
  await scene[Symbol.asyncDispose]()
})

/** Returns the command `windlass` of this run: the cluster has no DNS, and this machine none for the domain of the tunnels. */
function commandOf(values: string): string {
  // The pod is ready before the node leads its address to it.
  const answers = `until (: </dev/tcp/${ADDRESS}/3017) 2>/dev/null; do sleep 0.1; done`
  return `#!/bin/bash
case "$1 $2" in
  'gitops install')
    ${WINDLASS} "$@" --values ${values} || exit
    exec timeout 60 bash -c '${answers}' ;;
  'gitops integration' | 'gitops config' | 'gitops git-source' | 'gitops app') set -- "$@" --runtime-url http://${ADDRESS}:3017 ;;
esac
exec ${WINDLASS} "$@"
`
}

/** Replaces the names of the page. */
const local = (text: string): string =>
  text
    .replaceAll(/(?<=--(?:kube-)?namespaces?,? )argocd\b/g, argo.namespace)
    .replaceAll('https://git.example.com', forge.url)
    .replaceAll(IMAGE, LOCAL)
    .replaceAll('acme-staging', argo.staging)
    .replaceAll('acme-production', argo.production)

/** Types the commands of a block in the folder in which the block before it has ended. Returns what they print. */
async function type(text: string): Promise<string> {
  const script = `set -euo pipefail
cd "$(cat "$STATE" 2>/dev/null || echo "$HOME")"
${local(text)}
pwd >"$STATE"`
  const author = { GIT_AUTHOR_NAME: 'Ann', GIT_COMMITTER_NAME: 'Ann', EMAIL: 'ann@example.com' }
  const env = {
    ...scene.environment,
    ...author,
    ...acme.gitEnv,
    HOME: join(folder, 'home'),
    STATE: join(folder, 'state'),
    PATH: `${join(folder, 'bin')}:${await kubernetesPrograms()}:${process.env['PATH'] ?? ''}`,
  }
  const command = runProgram('bash', ['-c', script], { env })
  return command.catch((error: unknown) => {
    throw new Error(`The page says:\n${text}`, { cause: error })
  })
}

/** Writes a file of the page into the clone of `acme/apps`. */
async function write(path: string, text: string): Promise<void> {
  const at = join(folder, 'home/apps', path)
  await mkdir(dirname(at), { recursive: true })
  await writeFile(at, local(text))
}

const imageIn = (namespace: string): Promise<string> => {
  const image = 'jsonpath={.spec.template.spec.containers[0].image}'
  return scene.cluster.kubectl('--namespace', namespace, 'get', 'deployment', 'shop', '--output', image)
}
/** Waits until the server knows that the application has a commit, which the page leaves to the reader. */
async function reported(name: string, revision: string): Promise<void> {
  const listed = async (): Promise<string> => (await scene.windlass('get', 'applications', '--runtime', 'prod')).stdout
  const row = new RegExp(` ${name} +default +healthy +synced +${revision.slice(0, 12)}`)
  await expect.poll(listed, { timeout: 120_000, interval: 500 }).toMatch(row)
}

test('the tour of the page leads from an empty cluster to an application, a commit and a promotion (O063, O064)', async () => {
  const blocks = await readBlocks(PAGE, TITLE)
  const [first, ...others] = blocks
  // Argo CD runs already.
  expect(first?.text).toMatch(/^kubectl create namespace argocd\nkubectl apply .*\/install\.yaml\n$/)
  const printed: string[] = []
  const follow = async ({ path, text }: PageBlock): Promise<void> => {
    if (path !== undefined) return write(path, text)
    if (text.startsWith('windlass gitops promote')) {
      await reported('shop-staging', await type('git rev-parse HEAD'))
      expect([await imageIn(argo.staging), await imageIn(argo.production)]).toEqual([`${LOCAL}:v1.11.0`, `${LOCAL}:v1.10.4`])
    }
    printed.push(await type(text))
    return undefined
  }
  for (const block of others) await follow(block)
  expect(await imageIn(argo.production)).toBe(`${LOCAL}:v1.11.0`)
  // The installation alone has brought all parts. The tour gives the runtime no token of Argo CD.
  const status = await scene.client.gitopsStatus.get('prod')
  expect(status.checks.filter(({ status: found }) => found !== 'successful')).toMatchObject([
    { name: 'eventReporterArgoCDToken', status: 'unknown' },
  ])
  expect(status).toMatchObject({
    syncMode: 'helm',
    reporters: [{ shard: 0, shards: 1, isBlind: false, isSilent: false }],
    problems: [],
  })
  const [last = ''] = printed.slice(-1)
  expect(last).toMatch(/Promote shop to prod\/.*\/shop-production/)
  expect(last).toContain(' shop/production/deployment.yaml | 2 +-')
  // Every section has had a command.
  expect(new Set(others.map(({ heading }) => heading)).size).toBe(6)
})
