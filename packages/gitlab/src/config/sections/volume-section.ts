/** Volumes of the pods of jobs. */
import { z } from 'zod'
import { bool, quantity, table, text } from '../fields.ts'

const mounted = { name: text, mount_path: text, sub_path: text.optional(), read_only: bool.optional() }
const mount_propagation = text.optional()

export const Volumes = z.object({
  host_path: z.array(z.object({ ...mounted, host_path: text.optional(), mount_propagation })).optional(),
  pvc: z.array(z.object({ ...mounted, mount_propagation })).optional(),
  config_map: z.array(z.object({ ...mounted, items: table.optional() })).optional(),
  secret: z.array(z.object({ ...mounted, items: table.optional() })).optional(),
  empty_dir: z
    .array(
      z.object({ ...mounted, medium: z.enum(['', 'Memory']).optional(), size_limit: quantity.optional(), mount_propagation }),
    )
    .optional(),
  csi: z.array(z.object({ ...mounted, driver: text, fs_type: text.optional(), volume_attributes: table.optional() })).optional(),
  nfs: z.array(z.object({ ...mounted, server: text, path: text })).optional(),
})
export type Volumes = z.infer<typeof Volumes>
