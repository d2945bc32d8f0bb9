/** Copies the program of a job and the working tree into the volumes of its containers, through the helper before it runs. */
import { buffer } from 'node:stream/consumers'
import { Readable } from 'node:stream'
import { listWorkTree, packWorkTree, type Docker } from '@windlass/engine/docker'
import { fault } from '@windlass/kit'
import { pack } from 'tar-stream'
import { pack as packProgram, PROGRAM_FILE } from '../helper/program.ts'
import { EXCHANGE_FOLDER, PROGRAM_FOLDER } from '../pod/containers.ts'
import { BUILDS_FOLDER, type ExecPlan } from './exec-plan.ts'

export interface CopyOptions {
  readonly docker: Docker
  readonly helper: string
  readonly plan: Pick<ExecPlan, 'program' | 'projectFolder'>
  /** Folder of the working tree. */
  readonly root: string
  readonly signal: AbortSignal
}

/** Copies both. Throws `request-invalid` for a working tree that is too large. */
export async function copyIn({ docker, helper, plan, root, signal }: CopyOptions): Promise<{ readonly count: number }> {
  const first = pack()
  // Containers of other users write there as well.
  for (const path of [BUILDS_FOLDER, EXCHANGE_FOLDER]) first.entry({ name: `${path.slice(1)}/`, type: 'directory', mode: 0o777 })
  first.entry({ name: `${plan.projectFolder.slice(1)}/`, type: 'directory', mode: 0o777 })
  first.entry({ name: `${PROGRAM_FOLDER.slice(1)}/${PROGRAM_FILE}`, mode: 0o600 }, packProgram(plan.program))
  first.finalize()
  await docker.putArchive(helper, '/', await buffer(first), signal)
  const files = await listWorkTree(root)
  const tar = pack()
  const tooLarge = (gib: number): Error =>
    fault('request-invalid', {
      message: `The working tree ${root} has more than ${gib} GiB.`,
      hint: 'Exclude large files with .gitignore.',
    })
  const packed = packWorkTree(tar, { root, files, folder: plan.projectFolder.slice(1), tooLarge })
  packed.catch((error: Error) => tar.destroy(error))
  await Promise.all([packed, docker.putArchive(helper, '/', Readable.from(tar, { objectMode: false }), signal)])
  return { count: files.length }
}
