/** Nobody listens here: free ports, which other tests take all the time, come from another range. */
export const closedPort = 3;
