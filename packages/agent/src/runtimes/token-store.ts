/** Where the tokens of runtime files are stored: in a Secret that is mounted as a folder, or in the folder itself. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fault } from '@windlass/kit'
import { writePrivateFile } from '@windlass/kit/private-file'
import { hasCode } from '@windlass/kit/system-error'
import type { Kube } from '@windlass/kube'
import { parseDocument } from 'yaml'
import { z } from 'zod'

/**
 * Reads and replaces the token of a file. `file` is its path below the folder. Agents may share a store: a replacement has no effect if another
 * one came first. Both throw if the store cannot be reached or written.
 */
export interface TokenStore {
  /** Name for the log. */
  readonly name: string
  /** Returns the stored token; undefined without the file. */
  read(file: string): Promise<string | undefined>
  /** Stores `token` if the file has one of the `old` tokens. */
  replace(file: string, old: readonly string[], token: string): Promise<'replaced' | 'changed' | 'missing'>
}

const SecretShape = z.looseObject({
  metadata: z.looseObject({ resourceVersion: z.string().optional() }),
  data: z.record(z.string(), z.string()).nullish(),
})

/** Opens the Secret whose keys are the files of the folder. */
export function secretTokenStore({ kube, namespace, name }: { kube: Kube; namespace: string; name: string }): TokenStore {
  const ref = { kind: 'Secret', namespace, name } as const
  async function load(file: string): Promise<{ text: string; resourceVersion: string | undefined } | undefined> {
    const secret = SecretShape.safeParse(await kube.find(ref)).data
    const encoded = secret?.data?.[file]
    if (secret === undefined || encoded === undefined) return undefined
    return { text: Buffer.from(encoded, 'base64').toString('utf8'), resourceVersion: secret.metadata.resourceVersion }
  }
  return {
    name: `Secret ${name}`,
    async read(file) {
      const found = await load(file)
      return found === undefined ? undefined : tokenIn(found.text)
    },
    async replace(file, old, token) {
      const found = await load(file)
      if (found === undefined) return 'missing'
      if (!old.includes(tokenIn(found.text) ?? '')) return 'changed'
      const { resourceVersion } = found
      const data = { [file]: Buffer.from(withToken(found.text, token)).toString('base64') }
      // Throws a conflict if another agent writes at the same time.
      await kube.patch(ref, { metadata: { resourceVersion }, data })
      return 'replaced'
    },
  }
}

/** Opens the folder itself, for an agent outside of a cluster. */
export function folderTokenStore(dir: string): TokenStore {
  function load(file: string): string | undefined {
    try {
      return readFileSync(join(dir, file), 'utf8')
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return undefined
      throw error
    }
  }
  return {
    name: dir,
    async read(file) {
      const text = load(file)
      return text === undefined ? undefined : tokenIn(text)
    },
    async replace(file, old, token) {
      const text = load(file)
      if (text === undefined) return 'missing'
      if (!old.includes(tokenIn(text) ?? '')) return 'changed'
      writePrivateFile(join(dir, file), withToken(text, token), { replace: true })
      return 'replaced'
    },
  }
}

function tokenIn(text: string): string | undefined {
  const token: unknown = parseDocument(text, { prettyErrors: false }).get('token')
  return typeof token === 'string' ? token.trim() : undefined
}

/** Returns the text of the file with another token and everything else unchanged. Throws for text that is not YAML. */
function withToken(text: string, token: string): string {
  const document = parseDocument(text, { prettyErrors: false })
  if (document.errors.length > 0)
    throw fault('config-invalid', { message: 'The stored runtime file is not valid YAML.', hint: 'Attach the runtime again.' })
  document.set('token', token)
  return document.toString({ lineWidth: 0 })
}
