/** The tables of GitOps runtimes and their tunnels. `schema.ts` says what columns may contain. */

export interface GitopsRuntimeRow {
  id: string
  account_id: string
  /** A part of the name of its host. */
  name: string
  created_by: string
  created_at: number
}

/** A token with which the tunnel client of a runtime connects. It allows nothing else. */
export interface GitopsTokenRow {
  id: string
  account_id: string
  runtime_id: string
  /** SHA-256 of the secret, hex. */
  hash: string
  created_by: string
  created_at: number
}

/** The last connection of a runtime. */
export interface TunnelRow {
  runtime_id: string
  account_id: string
  /** Id of the connection. The server that has it changes the row only while it is this one. */
  session: string
  token_id: string
  /** Random per process of the client. */
  client: string
  client_version: string
  /** Address of the client. */
  address: string
  /** Id of the server that has the connection. */
  server: string
  /** Where other servers reach that one; null if they cannot. */
  server_url: string | null
  /** `connecting` until the client has answered. */
  state: 'connecting' | 'online' | 'offline'
  connected_at: number
  /** Time of the last answer of the client, or of the end of the connection. */
  seen_at: number
}
