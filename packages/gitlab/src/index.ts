export { openCoordinator, type Coordinator, type CoordinatorOptions } from './coordinator/client.ts'
export { openFeed, type Feed, type FeedOptions, type ReceivedJob, type RunnerEntry } from './coordinator/feed.ts'
export { openTraceSender, type TraceSender, type TraceSenderOptions } from './coordinator/trace-sender.ts'
