/** An index of a table that can be large. */
export interface OnlineIndex {
  readonly name: string
  /** The migration after which its columns exist. */
  readonly after: string
  /** The table with the columns and the condition, in SQL. */
  readonly on: string
}

/**
 * Built after the migrations, while servers of the version before use the tables. A migration must not build them: its locks on the tables end with the last
 * migration.
 */
export const onlineIndexes: readonly OnlineIndex[] = [
  { name: 'build_project_id_number', after: '031-users', on: 'build (project_id, number)' },
  { name: 'build_account_id_created_at', after: '055-lists', on: 'build (account_id, created_at)' },
  { name: 'build_account_id_revision', after: '055-lists', on: 'build (account_id, revision)' },
  { name: 'build_restart_of', after: '055-lists', on: 'build (restart_of)' },
  { name: 'approval_decided', after: '055-lists', on: 'approval (account_id, decided_at) where decision is not null' },
  {
    name: 'build_unreported_end',
    after: '059-reported-ends',
    on: 'build (account_id, finished_at) where end_reported is null and finished_at is not null',
  },
  {
    name: 'gitops_application_entity',
    after: '090-application-entities',
    on: 'gitops_application (account_id, entity, name, id)',
  },
]
