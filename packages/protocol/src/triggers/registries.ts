/** Registries of images and charts whose webhooks the server reads. */
import { z } from 'zod'

/** `distribution` is the registry of the CNCF, also inside of others. `generic` is a call of a script, in a form of our own. */
export const REGISTRIES = ['dockerhub', 'quay', 'acr', 'ecr', 'gcr', 'harbor', 'artifactory', 'distribution', 'generic'] as const
export const Registry = z.enum(REGISTRIES)
export type Registry = z.infer<typeof Registry>

/** Registries that can send neither a signature nor a header, so that the secret is the parameter `token` of the address. */
export const TOKEN_IN_ADDRESS = ['dockerhub', 'quay', 'gcr'] as const satisfies readonly Registry[]

/** The rules of triggers for images, charts and ended builds, in addition to `disabled` and `branch`. */
export const EVENT_TRIGGER_RULES = ['tag', 'version', 'status', 'project', 'depth'] as const
export type EventTriggerRule = (typeof EVENT_TRIGGER_RULES)[number]
