/** What cases use beside Docker: a git server with a small repository, and a registry. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRepository, startGitServer } from '../support/git-server.ts'
import { ensureImages } from '../support/images.ts'
import { startRegistry } from '../support/registry.ts'

export interface Parts {
  /** IMAGE: an image with busybox, bash and git, the only one that is on the disk of every build. GIT_URL, REGISTRY. */
  readonly variables: Readonly<Record<string, string>>
  close(): Promise<void>
}

/** The address at which containers of this machine's Docker reach it. */
const DOCKER_HOST_ADDRESS = '172.17.0.1'

/** `host`: where steps reach this machine. */
export async function openParts(host = DOCKER_HOST_ADDRESS): Promise<Parts> {
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
  return {
    variables: { IMAGE: image, GIT_URL: git.url, REGISTRY: registry.domain },
    async close() {
      await git.close()
      await registry.close()
      await rm(root, { recursive: true, force: true })
    },
  }
}
