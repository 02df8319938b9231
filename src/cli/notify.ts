import type { NotificationsConfig } from '../../schemas/config/notifications.ts';
import { type Channel, openChannel } from '../notifications/channels.ts';

/** By name. @throws CallsyncError CONFIG_SECRET */
export const channelsOf = ({ channels }: NotificationsConfig): ReadonlyMap<string, Channel> =>
  new Map(channels.map((config) => [config.name, openChannel(config)]));
