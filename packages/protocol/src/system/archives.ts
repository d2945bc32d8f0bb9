/** An archive of everything that a server stores: rows, and optionally logs and master keys. */
import { z } from 'zod'

/** What an archive contains besides the rows of the database. */
export const ArchiveInput = z.strictObject({
  /** Include the log objects. */
  logs: z.boolean().default(false),
  /** Include the master keys, encrypted with this passphrase. Requires a key without scopes. */
  passphrase: z.string().min(12).max(1000).optional(),
})
export type ArchiveInput = z.input<typeof ArchiveInput>
