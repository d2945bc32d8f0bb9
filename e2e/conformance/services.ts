/** Services of the cases: a git server with a small repository, and a registry. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { containerHost } from '../support/docker.ts'
import { createRepository, startGitServer } from '../support/git-server.ts'
import { ensureImages } from '../support/images.ts'
import { noteImages } from '../support/leftovers.ts'
import { startRegistry } from '../support/registry.ts'

export interface TestServices {
  /** IMAGE (an image with busybox, bash and git, the only one on the disk of every build), GIT_URL, REGISTRY. */
  readonly variables: Readonly<Record<string, string>>
  close(): Promise<void>
}

/** Starts the services. `address` is where steps reach this machine. Default: its address for containers of the local Docker. */
export async function startServices(address?: string): Promise<TestServices> {
  const host = address ?? (await containerHost())
  const { TOOLS_IMAGE: image = '' } = await ensureImages('tools')
  const root = await mkdtemp(join(tmpdir(), 'windlass-conformance-'))
  const tree = join(root, 'tree')
  await mkdir(join(tree, 'sub'), { recursive: true })
  await writeFile(join(tree, 'README.md'), 'A small repository.\n')
  await writeFile(join(tree, '.gitignore'), 'kept\n')
  await writeFile(join(tree, 'sub', 'file.txt'), 'from the repository\n')
  await writeFile(join(tree, 'Dockerfile'), `ARG BASE=${image}\nFROM \${BASE}\nCOPY sub/file.txt /file.txt\nRUN echo built\n`)
  await writeFile(join(tree, 'composition.yml'), `services:\n  job:\n    image: ${image}\n    command: echo from-the-file\n`)
  await createRepository({ root, name: 'demo/small', from: tree })
  const git = await startGitServer({ root, host })
  const registry = await startRegistry()
  const removeBuilt = await noteImages('conformance/')
  return {
    variables: { IMAGE: image, GIT_URL: git.url, REGISTRY: registry.domain },
    async close() {
      await git.close()
      await registry.close()
      await removeBuilt()
      await rm(root, { recursive: true, force: true })
    },
  }
}
