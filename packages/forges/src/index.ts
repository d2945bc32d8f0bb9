export {
  pathOf,
  urlOf,
  type BranchHead,
  type Change,
  type CommitFacts,
  type CommitStatus,
  type ForgeApi,
  type ForgePage,
  type Listing,
  type Page,
} from './api/forge-api.ts'
export { FORGE_APIS } from './api/forge-apis.ts'
export {
  type CommitEntry,
  type FileCall,
  type ForgeBrowser,
  type ForgeUser,
  type NamedCommit,
  type Organization,
  type Repository,
  type RepositoryFilter,
  type RepositoryPlace,
  type Single,
  type TreeEntry,
} from './browse/forge-browser.ts'
export { BROWSED_FORGES, FORGE_BROWSERS, type BrowsedForge } from './browse/forge-browsers.ts'
export { FORGE_PULLS, type ForgePulls, type NewPull, type PullPlace, type PullRequest } from './pulls/forge-pulls.ts'
export {
  FORGE_HOOKS,
  HOOKED_FORGES,
  HOOKS_OF_PAGE,
  MAX_HOOK_PAGES,
  type ForgeHook,
  type ForgeHooks,
  type HookCall,
  type HookedForge,
  type NewHook,
} from './hooks/forge-hooks.ts'
export { at, flag, isCommit, isNoCommit, joined, list, readRef, splitRepo, text } from './fields.ts'
