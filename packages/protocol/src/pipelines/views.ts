/** Views of the list of builds, and the preferences of users. */
import { z } from 'zod'
import { Id, Time } from '../base.ts'

const Values = z.array(z.string().min(1).max(300)).min(1).max(50).optional()

/** Filters of `GET /v1/builds`. All must match; of the values of one filter, one must match. */
export const ViewFilter = z.strictObject({
  status: Values,
  project: Values,
  pipeline: Values,
  branch: Values,
  initiator: Values,
  trigger: Values,
  runtime: Values,
  reason: Values,
  annotation: Values,
  q: z.string().min(1).max(200).optional(),
})
export type ViewFilter = z.infer<typeof ViewFilter>

const ViewName = z
  .string()
  .trim()
  .min(1)
  .max(60)
  .regex(/^\P{C}*$/u, 'must not have control characters')

/** A view: filters with a name. */
export const ViewInput = z.strictObject({ name: ViewName, filter: ViewFilter })
export type ViewInput = z.infer<typeof ViewInput>

/** A view that all users see. */
export const SharedView = ViewInput.extend({ id: Id, createdBy: z.string(), createdAt: Time, updatedAt: Time })
export type SharedView = z.infer<typeof SharedView>

/** Maximum number of shared views, and of own views of one user. */
export const MAX_SHARED_VIEWS = 100
const MAX_OWN_VIEWS = 50
/** Maximum size of the preferences of one user as JSON. Bytes. */
export const MAX_PREFERENCES_BYTES = 16_384

/** What a user has set for the page, in all browsers. */
export const Preferences = z.strictObject({
  /** Own views. */
  views: z
    .array(ViewInput)
    .max(MAX_OWN_VIEWS)
    .refine((views) => new Set(views.map(({ name }) => name)).size === views.length, 'must have different names')
    .default([]),
  /** The view that the page opens with. */
  defaultView: z.strictObject({ name: ViewName, shared: z.boolean() }).optional(),
  /** Settings of pages by name. The server does not read them. */
  page: z.record(z.string().max(100), z.unknown()).default({}),
})
export type Preferences = z.infer<typeof Preferences>

/** Stored preferences. `revision` is the ETag, for `If-Match`; 0 if nothing was stored yet. */
export const StoredPreferences = Preferences.extend({ revision: z.int().nonnegative() })
export type StoredPreferences = z.infer<typeof StoredPreferences>
