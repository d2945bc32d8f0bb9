/** The server, and the account with its keys, sessions and settings. */
import {
  AccountSettings,
  AccountSettingsInput,
  ApiKey,
  ApiKeyCreated,
  ApiKeyInput,
  ArchiveInput,
  Bootstrap,
  MasterKeys,
  page,
  RotationInput,
  ServerStatus,
  Session,
  SessionCode,
  SessionInput,
  SessionsEnded,
  SessionsQuery,
  SystemState,
  StreamQuery,
  Whoami,
} from '@windlass/protocol'
import { z } from 'zod'
import { route } from '../route.ts'

export const server = {
  status: route('GET', '/v1/status', { answer: ServerStatus }),
  /** Returns replicas, versions, sizes, retention, load and a forecast of the disk. */
  system: route('GET', '/v1/system', { answer: SystemState }),
  /** Creates the first admin key, authorized by the server's bootstrap code. Throws `bootstrap-code`, `bootstrap-closed`. */
  bootstrap: route('POST', '/v1/bootstrap', { body: Bootstrap, answer: ApiKeyCreated }),
  /** Returns the owner of the client's key. Throws `unauthenticated`. */
  whoami: route('GET', '/v1/whoami', { answer: Whoami }),
  /** Follows several topics: events named as in `STREAM_EVENTS`. The caller resumes with the last `id` as `cursor`. */
  stream: route('GET', '/v1/stream', { query: StreamQuery, answer: 'events' }),
  openapi: route('GET', '/v1/openapi.json', { answer: z.record(z.string(), z.unknown()) }),
}

export const keys = {
  list: route('GET', '/v1/keys', { answer: page(ApiKey) }),
  /** Creates an API key. Only this response contains the token. */
  create: route('POST', '/v1/keys', { body: ApiKeyInput, answer: ApiKeyCreated, isKeyed: true }),
  delete: route('DELETE', '/v1/keys/{name}', { answer: 'nothing' }),
}

/** Sessions of browsers. A session acts for a user or an API key. */
export const sessions = {
  list: route('GET', '/v1/sessions', { answer: page(Session) }),
  /** Signs in with a name and password, an API key or a one-time code. The response sets the cookie of the session. Throws `unauthenticated`. */
  create: route('POST', '/v1/sessions', { body: SessionInput, answer: Session }),
  /** Creates a one-time code with the rights of the client's key, valid for 15 minutes. Throws `forbidden` for a session. */
  createCode: route('POST', '/v1/sessions/codes', { answer: SessionCode, isKeyed: true }),
  /** Returns the session of this browser, and renews its cookie once an hour. */
  current: route('GET', '/v1/sessions/current', { answer: Session }),
  /** Ends all sessions of the caller; with `user`, those of that user. */
  signOutEverywhere: route('DELETE', '/v1/sessions', { query: SessionsQuery, answer: SessionsEnded }),
  signOut: route('DELETE', '/v1/sessions/current', { answer: 'nothing' }),
  delete: route('DELETE', '/v1/sessions/{id}', { answer: 'nothing' }),
}

export const masterKeys = {
  get: route('GET', '/v1/master-keys', { answer: MasterKeys }),
  /** Makes a new master key current and starts sealing every secret with it. Throws `no-new-key`, `keys-not-everywhere`. */
  rotate: route('POST', '/v1/master-keys/rotation', { body: RotationInput, answer: MasterKeys, isKeyed: true }),
  prune: route('POST', '/v1/master-keys/prune', { answer: MasterKeys }),
}

export const archives = {
  /** Returns an archive of the server as a tar stream. The stream fails if the server cannot write all of it. */
  create: route('POST', '/v1/archives', { body: ArchiveInput, answer: 'bytes' }),
}

export const settings = {
  get: route('GET', '/v1/settings', { answer: AccountSettings }),
  /** Replaces the settings of the account. Omitted ones get their defaults, except `runtimeAccess`, which stays. */
  put: route('PUT', '/v1/settings', { body: AccountSettingsInput, answer: AccountSettings }),
}
