/** The key file of a Google service account. */
import { readFile } from 'node:fs/promises'
import { fault, parseJson } from '@windlass/kit'
import { z } from 'zod'

/** What signs in the name of the account. Key files have more. */
export const GoogleKey = z.looseObject({
  type: z.literal('service_account', { error: 'must be the key of a service account' }),
  client_email: z.string(),
  private_key: z.string(),
})
export type GoogleKey = z.infer<typeof GoogleKey>

/** Reads a key file. `source` names the setting that has the path. Throws `storage-refused` without the content of the file. */
export async function readGoogleKey<T extends GoogleKey>(schema: z.ZodType<T>, path: string, source: string): Promise<T> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw fault('storage-refused', { message: `The file ${path} of ${source} cannot be read.` }, error)
  })
  const parsed = schema.safeParse(parseJson(text))
  // Without the message of the schema, which might quote the file.
  if (!parsed.success) throw fault('storage-refused', { message: `${path} is not the key file of a Google service account.` })
  return parsed.data
}
