/**
 * The real parts that the demo builds with, in one process: the example application in a git repository, and a registry.
 * `node scripts/demo-parts.ts FOLDER HOST` writes FOLDER/pipeline.yml (what `windlass apply` takes) and FOLDER/ready,
 * then serves until it is told to stop. HOST is an address at which containers reach this machine.
 * SHELL_IMAGE and NODE_IMAGE name the images of the pipeline. GITEA, if set, is the folder of a compiled Gitea: it then serves the repository, and a
 * push starts a build (`demo-forge.ts`).
 */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'
import { createRepository, startGitServer } from '../e2e/support/git-server.ts'
import { startRegistry } from '../e2e/support/registry.ts'
import { CONTEXT, REPO, startForge } from './demo-forge.ts'

interface Source {
  /** URL of the repository. */
  readonly url: string
  /** Triggers of the pipeline. */
  readonly triggers: readonly object[]
  close(): Promise<void>
}

const [folder = '', host = ''] = process.argv.slice(2)
const application = join(import.meta.dirname, '../examples/app')

/** Serves the repository by a small git server, which starts no builds. */
async function startPlainServer(): Promise<Source> {
  const repositories = join(folder, 'git')
  await mkdir(repositories, { recursive: true })
  await createRepository({ root: repositories, name: REPO, from: application })
  const git = await startGitServer({ root: repositories, host })
  return { url: `${git.url}/${REPO}.git`, triggers: [], close: git.close }
}

async function startSource(): Promise<Source> {
  if (process.env['GITEA'] === undefined) return startPlainServer()
  const forge = await startForge({ folder, host, application })
  return { ...forge, triggers: [{ name: 'push', type: 'git', repo: REPO, context: CONTEXT, events: ['push.heads'] }] }
}

const source = await startSource()
// A daemon trusts a registry on the loopback address of its own machine without TLS.
const registry = await startRegistry({ host: '127.0.0.1', folder: join(folder, 'registry') })

const variables = {
  REPO_URL: source.url,
  REGISTRY: registry.domain,
  SHELL_IMAGE: process.env['SHELL_IMAGE'] ?? 'busybox:1.37',
  NODE_IMAGE: process.env['NODE_IMAGE'] ?? 'node:24-slim',
}
const { version, ...steps } = parse(await readFile(join(application, 'codefresh.yml'), 'utf8'))
const project = { version, kind: 'project', metadata: { name: 'demo' }, spec: {} }
const pipeline = {
  version,
  kind: 'pipeline',
  metadata: { name: 'demo/app' },
  spec: {
    variables: Object.entries(variables).map(([key, value]) => ({ key, value })),
    triggers: source.triggers,
    ...steps,
  },
}
await writeFile(join(folder, 'pipeline.yml'), `${stringify(project)}---\n${stringify(pipeline)}`)
await writeFile(join(folder, 'ready'), '')

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.on(signal, () => {
    void Promise.all([source.close(), registry.close(), rm(join(folder, 'ready'), { force: true })]).then(() => process.exit(0))
  })
}
