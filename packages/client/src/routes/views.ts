/** The preferences of the caller, and the views that all users share. */
import { page, Preferences, SharedView, StoredPreferences, ViewInput } from '@windlass/protocol'
import { route } from '../route.ts'

export const preferences = {
  get: route('GET', '/v1/session/preferences', { answer: StoredPreferences }),
  put: route('PUT', '/v1/session/preferences', { body: Preferences, answer: StoredPreferences }),
}

export const views = {
  list: route('GET', '/v1/views', { answer: page(SharedView) }),
  create: route('POST', '/v1/views', { body: ViewInput, answer: SharedView, isKeyed: true }),
  put: route('PUT', '/v1/views/{view}', { body: ViewInput, answer: SharedView }),
  delete: route('DELETE', '/v1/views/{view}', { answer: 'nothing' }),
}
