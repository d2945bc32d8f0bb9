/** Security contexts of the pod and of its containers. */
import { z } from 'zod'
import { bool, text, texts } from '../fields.ts'

const profile = z.object({ type: text.optional(), localhost_profile: text.optional() })

export const PodSecurityContext = z.object({
  fs_group: z.int().optional(),
  run_as_group: z.int().optional(),
  run_as_non_root: bool.optional(),
  run_as_user: z.int().optional(),
  supplemental_groups: z.array(z.int()).optional(),
  selinux_type: text.optional(),
  seccomp_profile: profile.optional(),
  app_armor_profile: profile.optional(),
})
export type PodSecurityContext = z.infer<typeof PodSecurityContext>

export const ContainerSecurityContext = z.object({
  run_as_user: z.int().optional(),
  run_as_group: z.int().optional(),
  run_as_non_root: bool.optional(),
  privileged: bool.optional(),
  allow_privilege_escalation: bool.optional(),
  read_only_root_filesystem: bool.optional(),
  selinux_type: text.optional(),
  proc_mount: z.enum(['default', 'unmasked', 'Default', 'Unmasked', '']).optional(),
  capabilities: z.object({ add: texts.optional(), drop: texts.optional() }).optional(),
  seccomp_profile: profile.optional(),
  app_armor_profile: profile.optional(),
})
export type ContainerSecurityContext = z.infer<typeof ContainerSecurityContext>
