/** Master keys, which encrypt the secrets that a server stores, and their rotation. */
import { z } from 'zod'
import { Time } from '../base.ts'

const KeyId = z.string()

/** Starts a rotation to the next master key. */
export const RotationInput = z.object({
  /** Remove older keys when they are no longer needed. */
  prune: z.boolean().default(false),
})

export const MasterKeys = z.object({
  /** `file`: the server adds and removes keys. `setting`: the operator does, in the setting (a Secret). */
  source: z.enum(['file', 'setting']),
  /** Oldest first. */
  keys: z.array(
    z.object({
      id: KeyId,
      /** `next` becomes current with the next rotation; `unused` may be removed. */
      state: z.enum(['older', 'unused', 'current', 'next']),
      /** Number of running attempts and warm pairs whose credentials are derived from this key. */
      credentials: z.int(),
    }),
  ),
  /** Latest rotation; absent if there was none. */
  rotation: z
    .object({
      to: KeyId,
      startedAt: Time,
      /** Absent while the rotation is running. */
      finishedAt: Time.optional(),
      /** Number of values that were encrypted again with the new key, by type of object. */
      rewrapped: z.record(z.string(), z.int()),
      /** Number of values that cannot be decrypted. */
      unreadable: z.int(),
      /** True while older keys wait to be removed. */
      prunes: z.boolean(),
    })
    .optional(),
})
export type MasterKeys = z.infer<typeof MasterKeys>
