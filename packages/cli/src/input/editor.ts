/** Lets the user edit a text with the program that `VISUAL` or `EDITOR` names. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fault } from '@windlass/kit/faults'
import type { Settings } from '../config.ts'

/** Its file is deleted in the end. */
export interface Editor extends AsyncDisposable {
  readonly file: string
  /** Leaves the file, with the text that the user has saved last. Returns false if there is none. */
  keep(): boolean
  /** Returns the text as the user has saved it. Throws `usage` if the editor fails. */
  edit(text: string): Promise<string>
}

/** Throws `usage` if no variable names an editor. `name`: of the file that it shows. */
export async function openEditor({ editor, environment }: Settings, name: string): Promise<Editor> {
  if (editor === undefined)
    throw fault('usage', {
      message: 'There is nothing to change, and no editor: neither VISUAL nor EDITOR is set.',
      hint: 'Give the fields as options, a manifest with --file, or set EDITOR.',
    })
  const folder = await mkdtemp(join(tmpdir(), 'windlass-edit-'))
  const file = join(folder, name)
  let isEdited = false
  let isKept = false
  return {
    file,
    keep: () => (isKept = isEdited),
    async edit(text) {
      await writeFile(file, text, { mode: 0o600 })
      // The variable can have arguments, such as `code --wait`, as git and kubectl take them.
      const child = spawn('sh', ['-c', `${editor} "$0"`, file], { stdio: 'inherit', env: environment })
      // A program that does not start rejects.
      const [code] = await once(child, 'exit')
      if (code !== 0)
        throw fault('usage', { message: `The editor "${editor}" ended with ${String(code)}, so nothing was changed.` })
      isEdited = true
      return readFile(file, 'utf8')
    },
    async [Symbol.asyncDispose]() {
      if (!isKept) await rm(folder, { recursive: true, force: true })
    },
  }
}
