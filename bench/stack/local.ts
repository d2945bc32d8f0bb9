/** The equivalent of `windlass up`, as its own process: server, agent and engine on the Docker daemon of this machine. */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { nodeTransport } from '@windlass/kit'
import { openClient, type ApiClient } from '@windlass/client'
import type { Build } from '@windlass/protocol'
import { describeChild } from '../../e2e/chaos/processes/child.ts'
import { ensureImages } from '../../e2e/support/images.ts'
import { requireImage } from '../floors/docker.ts'
import { MissingPartError } from '../row.ts'

export interface LocalStack extends AsyncDisposable {
  readonly client: ApiClient
  /** Process id of the single process that contains server, agent and engine. */
  readonly pid: number
  /** Starts a build of a document. */
  submit(document: string): Promise<Build>
}

/** Returns a document of freestyle steps: name -> image and command. */
export function toDocument(steps: Readonly<Record<string, { readonly image: string; readonly command: string }>>): string {
  const lines = Object.entries(steps).flatMap(([name, { image, command }]) => [
    `  ${name}:`,
    `    image: ${image}`,
    `    commands:`,
    `      - ${JSON.stringify(command)}`,
  ])
  return ['version: "1.0"', 'steps:', ...lines, ''].join('\n')
}

/** Returns the references of the images that lines run. Throws `MissingPartError` without a daemon or without the images. */
export async function benchImages(): Promise<{ readonly shell: string; readonly node: string }> {
  const found = await ensureImages('shell', 'node', 'tools').catch((error: unknown) => {
    throw new MissingPartError(
      `no Docker daemon or images (scripts/images): ${error instanceof Error ? error.message : String(error)}`,
    )
  })
  const [shell, node] = [found['SHELL_IMAGE'] ?? '', found['NODE_IMAGE'] ?? '']
  await requireImage(shell)
  return { shell, node }
}

/** Starts the stack in a temporary folder. */
export async function openLocalStack(): Promise<LocalStack> {
  const folder = await mkdtemp(join(tmpdir(), 'windlass-bench-'))
  const entry = join(import.meta.dirname, 'local-process.ts')
  const child = describeChild({
    name: 'local',
    command: process.execPath,
    args: [entry, folder],
    logFile: join(folder, 'local.log'),
  })
  await child.start()
  const bare = openClient({ url: child.ready[0] ?? '', transport: nodeTransport() })
  const client = bare.withToken((await readFile(join(folder, 'server', 'admin.token'), 'utf8')).trim())
  return {
    client,
    pid: child.pid ?? 0,
    submit: (document) => client.builds.create({ document }, { idempotencyKey: false }),
    async [Symbol.asyncDispose]() {
      await child.kill()
      await rm(folder, { recursive: true })
    },
  }
}
