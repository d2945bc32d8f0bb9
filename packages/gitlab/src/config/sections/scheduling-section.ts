/** Affinity, DNS and lifecycle hooks of the pods of jobs. */
import { z } from 'zod'
import { table, text, texts } from '../fields.ts'

const expression = z.object({ key: text, operator: text, values: texts.optional() })
const selector = z.object({ match_labels: table.optional(), match_expressions: z.array(expression).optional() })
const nodeTerm = z.object({
  match_expressions: z.array(expression).optional(),
  match_fields: z.array(expression).optional(),
})
const podTerm = z.object({
  label_selector: selector.optional(),
  namespaces: texts.optional(),
  topology_key: text,
  namespace_selector: selector.optional(),
  match_label_keys: texts.optional(),
  mismatch_label_keys: texts.optional(),
})
const podAffinity = z.object({
  required_during_scheduling_ignored_during_execution: z.array(podTerm).optional(),
  preferred_during_scheduling_ignored_during_execution: z
    .array(z.object({ weight: z.int().min(1).max(100), pod_affinity_term: podTerm }))
    .optional(),
})

export const Affinity = z.object({
  node_affinity: z
    .object({
      required_during_scheduling_ignored_during_execution: z.object({ node_selector_terms: z.array(nodeTerm) }).optional(),
      preferred_during_scheduling_ignored_during_execution: z
        .array(z.object({ weight: z.int().min(1).max(100), preference: nodeTerm }))
        .optional(),
    })
    .optional(),
  pod_affinity: podAffinity.optional(),
  pod_anti_affinity: podAffinity.optional(),
})
export type Affinity = z.infer<typeof Affinity>

export const DnsConfig = z.object({
  nameservers: texts.optional(),
  searches: texts.optional(),
  options: z.array(z.object({ name: text, value: text.optional() })).optional(),
})
export type DnsConfig = z.infer<typeof DnsConfig>

const port = z.union([z.int().min(1).max(65_535), text])
const hook = z.object({
  exec: z.object({ command: texts }).optional(),
  http_get: z
    .object({
      host: text.optional(),
      http_headers: z.array(z.object({ name: text, value: text })).optional(),
      path: text.optional(),
      port,
      scheme: z.enum(['HTTP', 'HTTPS']).optional(),
    })
    .optional(),
  tcp_socket: z.object({ host: text.optional(), port }).optional(),
})

export const ContainerLifecycle = z.object({ post_start: hook.optional(), pre_stop: hook.optional() })
export type ContainerLifecycle = z.infer<typeof ContainerLifecycle>
